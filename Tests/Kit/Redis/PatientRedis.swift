package import RedisClient

extension RedisConfiguration {
    /// For tests that do not check time limits: a busy machine may need longer than the usual 5 s.
    package static var patient: RedisConfiguration {
        var configuration = RedisConfiguration()
        configuration.commandTimeout = .seconds(60)
        configuration.connectTimeout = .seconds(60)
        return configuration
    }
}
