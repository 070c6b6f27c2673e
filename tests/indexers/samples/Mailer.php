<?php
declare(strict_types=1);

namespace App\Mail;

use App\Models\User;
use function App\helper;

const LIMIT = 10;
define('MODE', 'fast');

/**
 * Sends mail.
 */
#[Service]
final class Mailer extends Base implements Sender, Countable
{
    use Logging;

    public const RETRIES = 3;
    private ?User $user = null;

    /** Makes one. */
    public function __construct(private Transport $transport, array $options = [])
    {
        parent::__construct($options);
    }

    /**
     * Sends.
     */
    #[Pure]
    public static function send(string $to, string ...$lines): ?Result
    {
        $format = function ($line) { return trim($line); };
        return static::instance()->transport->deliver(new Message($to), helper($lines));
    }

    abstract protected function count(): int;
}

interface Sender { public function send(string $to): ?Result; }
trait Logging { protected function log(string $line): void {} }
enum Priority: int { case Low = 1; case High = 2; public function label(): string { return ucfirst($this->name); } }

/* Helps. */
function help(int $times = 1): void
{
    echo str_repeat('x', $times);
}

$mailer = new Mailer(new Smtp());
$mailer->send('a@example.org');
?>
<p>Sent</p>
