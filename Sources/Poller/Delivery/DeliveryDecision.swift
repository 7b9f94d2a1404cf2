/// What follows from one attempt to tell a customer.
package struct DeliveryDecision: Hashable, Sendable {
    /// What has become of the event.
    package enum Fate: String, Hashable, Sendable {
        case delivered
        /// Nothing was sent: the recipient wants no mail. Done, all the same.
        case skipped
        /// It will be tried again.
        case failed
        /// No attempt is left: a dead letter.
        case givenUp = "given_up"
        /// The receiver will never take it: a dead letter.
        case rejected
    }

    package let fate: Fate
    package let state: DeliveryState
    package let verdict: Verdict
    package let signal: LaneSignal
    /// How long until the next attempt; nil when the event has come to its end.
    package let wait: Duration?
    /// The fallback endpoint is to be told of the event now.
    package let escalates: Bool
}
