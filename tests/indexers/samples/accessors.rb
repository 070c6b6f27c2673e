# Accounts, and what they answer.
module Bank
  class Account
    # What it holds, in cents.
    attr_reader :balance, "currency", *EXTRA
    attr_accessor(:owner)
    private attr_writer :limit
    cattr_accessor :registry
    attr_reader

    # Takes it all.
    alias empty! clear
    alias :[] :fetch
    alias $out $stdout
    alias_method :size, :length

    define_method(:closed?) { @closed }
    define_method :open do |by|
      by.check
      attr_reader :not_here
    end
    define_method(name) { 1 }
    attr_writer(*NAMES, :"last name", "#{x}", :late)
    %w[a b].each { |name| define_method("#{name}_at") { name } }

    class << self
      attr_accessor :config
    end

    def grant(other)
      attr_reader :nor_here
      other.attr_reader :nor_this
    end
  end
end
