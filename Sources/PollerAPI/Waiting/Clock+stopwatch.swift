extension Clock where Duration == Swift.Duration {
    /// Begins to measure; each call of the result tells the span since then.
    func stopwatch() -> @Sendable () -> Duration {
        let start = now
        return { start.duration(to: now) }
    }
}
