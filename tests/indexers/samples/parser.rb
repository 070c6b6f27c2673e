# frozen_string_literal: true

require "json"
require_relative "lexer"

# Reads things.
#
#   Parsing.new
module Parsing
  VERSION = "1.0"

  # A parser.
  class Parser < Base
    include Enumerable
    attr_reader :tokens

    DEFAULTS = { strict: true }.freeze

    # Makes one.
    def initialize(source, strict: true, &block)
      @tokens = Lexer.new(source).tokens
      super()
    end

    def self.parse(source) = new(source).run

    class << self
      def open(path)
        File.open(path) { |file| parse(file.read) }
      end
    end

    def empty? = tokens.empty?

    def [](index)
      tokens[index]
    end

    private

    def name=(value)
      @name = value
    end
  end

  class ParseError < StandardError; end
end

def helper(*args)
  puts args
end

if ENV["DEBUG"]
  puts "debug"
end

Parsing::Parser.parse("x")
