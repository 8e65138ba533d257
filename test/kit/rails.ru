# A Rails application without anything but its routes and controllers, for a receiver to stand in.
require "action_controller/railtie"

class Shop < Rails::Application
  config.root = __dir__
  config.load_defaults 6.1
  config.eager_load = true
  config.consider_all_requests_local = false
  config.secret_key_base = "of the test"
  config.hosts.clear
  config.logger = Logger.new($stdout)
end

$stdout.sync = true
Shop.initialize!
run Shop
