<?php
namespace Shop\Limits;

/** How many at once. */
const MANY = 10, FEW = 2;

define('ROOT', __DIR__);
if (!defined('DEBUG')) {
    \define("DEBUG", false);
}

interface Priced
{
    /** The tax. */
    public const float TAX = 0.19;
    const LOW = 1, HIGH = 2;
}

enum Size: string
{
    case Small = 's';
    final protected const DEFAULT = self::Small;
}

function boot(): void
{
    define('LATE', 1);
    defined('ROOT') or die;
}
