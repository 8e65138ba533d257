<?php

// A Laravel application without anything but its routes and controllers, for a receiver to stand in.

error_reporting(E_ALL & ~E_DEPRECATED);
require 'Illuminate/autoload.php';

use Illuminate\Contracts\Debug\ExceptionHandler;
use Illuminate\Contracts\Http\Kernel;
use Illuminate\Foundation\Exceptions\Handler;
use Illuminate\Foundation\Http\Middleware\ConvertEmptyStringsToNull;
use Illuminate\Foundation\Http\Middleware\TrimStrings;
use Illuminate\Foundation\Http\Middleware\ValidatePostSize;
use Illuminate\Foundation\Support\Providers\RouteServiceProvider;
use Illuminate\Http\Request;
use Illuminate\Support\Facades\Route;

class Routes extends RouteServiceProvider
{
    public function boot(): void
    {
        $this->routes(fn () => Route::prefix('api')->group(base_path('routes/api.php')));
    }
}

class HttpKernel extends Illuminate\Foundation\Http\Kernel
{
    protected $middleware = [ValidatePostSize::class, TrimStrings::class, ConvertEmptyStringsToNull::class];
}

$app = new Illuminate\Foundation\Application(__DIR__);
spl_autoload_register(function (string $class): void {
    if (str_starts_with($class, 'App\\')) {
        require base_path('app/' . str_replace('\\', '/', substr($class, 4)) . '.php');
    }
});
$app->singleton(Kernel::class, HttpKernel::class);
$app->singleton(ExceptionHandler::class, Handler::class);
$kernel = $app->make(Kernel::class);
$request = Request::capture();
$response = $kernel->handle($request);
$response->send();
$kernel->terminate($request, $response);
