/// One attempt as the log of its delivery keeps it.
package struct AttemptRecord: Hashable, Sendable {
    /// Attempts kept of a delivery: the default schedule has 13 of one event, so the log tells
    /// the whole story of the event in trouble and the end of the one before.
    package static let countMax = 20
    /// How long the log of a delivery outlives its newest attempt.
    package static let kept = Duration.seconds(30 * 86_400)

    /// When it began, by the store's clock.
    package let at: Timestamp
    package let event: EventID
    package let seq: Int
    /// 1 for the first attempt of the event.
    package let number: Int
    package let outcome: AttemptResult.Outcome
    package let kind: AttemptClass
    package let code: Int?
    package let address: String?
    package let phases: AttemptPhases
    /// What was wrong; empty when nothing was.
    package let reason: String
    /// The beginning of the answer; empty when it was accepted.
    package let excerpt: String

    /// Records an attempt.
    package init(at: Timestamp, event: Event, number: Int, result: AttemptResult) {
        self.init(
            at: at,
            event: event.id,
            seq: event.seq,
            number: number,
            outcome: result.outcome,
            kind: result.kind,
            code: result.code,
            address: result.address,
            phases: result.phases,
            reason: result.reason,
            excerpt: result.excerpt
        )
    }

    /// Puts a record together, as a store does.
    package init(
        at: Timestamp,
        event: EventID,
        seq: Int,
        number: Int,
        outcome: AttemptResult.Outcome,
        kind: AttemptClass,
        code: Int?,
        address: String?,
        phases: AttemptPhases,
        reason: String,
        excerpt: String
    ) {
        self.at = at
        self.event = event
        self.seq = seq
        self.number = number
        self.outcome = outcome
        self.kind = kind
        self.code = code
        self.address = address
        self.phases = phases
        self.reason = reason
        self.excerpt = excerpt
    }
}
