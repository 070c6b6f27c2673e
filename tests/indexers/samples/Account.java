/* Copyright: nobody. */
package org.example.bank;

import java.util.List;
import static java.util.Objects.requireNonNull;

/**
 * An account.
 *
 * @author A
 */
@Entity(name = "account")
public final class Account<T extends Money> extends Base implements Comparable<Account<T>> {
    public static final int LIMIT = 3;
    private T balance;

    static {
        Registry.register(Account.class);
    }

    /** Opens an account. */
    public Account(T balance) {
        this.balance = requireNonNull(balance);
    }

    /**
     * Takes money out.
     */
    @Override
    @Deprecated(since = "3")
    public synchronized <U> List<U> withdraw(
            final int amount, // cents
            String... notes) throws IllegalStateException {
        Runnable later = new Runnable() {
            @Override public void run() { audit(amount); }
        };
        return ledger.entries().map(Entry::of).toList();
    }

    abstract int rate();

    public enum State {
        OPEN { boolean usable() { return true; } }, CLOSED;
        boolean usable() { return false; }
    }

    interface Listener { void changed(Account<?> account); }

    record Entry(long id, String note) {
        Entry {
            check(id);
        }
        static Entry of(long id) { return new Entry(id, ""); }
    }
}

@interface Entity { String name() default ""; }
