/// What an attempt changes in a delivery.
package struct DeliveryChange: Hashable, Sendable {
    package let state: DeliveryState
    /// Why the attempt failed, for operators; nil clears it.
    package let lastError: String?
    /// What the log of the delivery is to keep of it; nil when nothing was tried.
    package let attempt: AttemptRecord?

    /// Describes a change.
    package init(
        state: DeliveryState,
        lastError: String? = nil,
        attempt: AttemptRecord? = nil
    ) {
        self.state = state
        self.lastError = lastError
        self.attempt = attempt
    }
}
