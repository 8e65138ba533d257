<?php

// A Laravel application without anything but its routes and controllers, for a receiver to stand in.

error_reporting(E_ALL & ~E_DEPRECATED);
require 'Illuminate/autoload.php';

use Illuminate\Cache\RateLimiting\Limit;
use Illuminate\Contracts\Debug\ExceptionHandler;
use Illuminate\Contracts\Http\Kernel;
use Illuminate\Foundation\Exceptions\Handler;
use Illuminate\Foundation\Http\Middleware\ConvertEmptyStringsToNull;
use Illuminate\Foundation\Http\Middleware\TrimStrings;
use Illuminate\Foundation\Http\Middleware\ValidatePostSize;
use Illuminate\Foundation\Support\Providers\RouteServiceProvider;
use Illuminate\Http\Request;
use Illuminate\Routing\Middleware\SubstituteBindings;
use Illuminate\Routing\Middleware\ThrottleRequests;
use Illuminate\Support\Facades\RateLimiter;
use Illuminate\Support\Facades\Route;

class Routes extends RouteServiceProvider
{
    public function boot(): void
    {
        // As in a new project of this version.
        RateLimiter::for('api', fn (Request $request) => Limit::perMinute(60)->by($request->ip()));
        $this->routes(fn () => Route::prefix('api')->middleware('api')->group(base_path('routes/api.php')));
    }
}

class HttpKernel extends Illuminate\Foundation\Http\Kernel
{
    protected $middleware = [ValidatePostSize::class, TrimStrings::class, ConvertEmptyStringsToNull::class];
    protected $middlewareGroups = ['api' => ['throttle:api', SubstituteBindings::class]];
    protected $routeMiddleware = ['throttle' => ThrottleRequests::class];
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
