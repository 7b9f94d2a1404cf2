/// What a watch has learnt so far; the only part of it that a poll changes.
package struct WatchState: Hashable, Sendable {
    /// The last status seen, nil before the first answer.
    package var status: SourceStatus?
    /// ``Observation/detail`` as it was told last.
    package var detail: String
    /// Polls since the watch began, answered or not.
    package var attempts: Int
    /// Unchanged looks since the last change: the position in the policy's schedule.
    package var step: Int
    /// Failed polls in a row; a rate limit is not a failure.
    package var failures: Int
    /// Answers in a row that nobody understood.
    package var malformed: Int
    /// When the upstream was last asked.
    package var lastPolledAt: Timestamp?
    /// How far the charge has come, when there is to be one.
    package var charge: ChargeProgress

    /// A state; by default that of a watch nobody has looked at.
    package init(
        status: SourceStatus? = nil,
        detail: String = "",
        attempts: Int = 0,
        step: Int = 0,
        failures: Int = 0,
        malformed: Int = 0,
        lastPolledAt: Timestamp? = nil,
        charge: ChargeProgress = .none
    ) {
        self.status = status
        self.detail = detail
        self.attempts = attempts
        self.step = step
        self.failures = failures
        self.malformed = malformed
        self.lastPolledAt = lastPolledAt
        self.charge = charge
    }
}
