package import PollerIdentity
package import PollerQueue
import SafeNumbers

/// Refusals of a mail relay that are not about a recipient.
///
/// A relay that blocks this system, requires another login or has broken TLS refuses the emails of every payer. Only an
/// operator can fix that, so it is an incident (`IncidentKind.mailRelay`), and the emails are tried again.
package struct RelayFailures: Hashable, Sendable {
    /// The age up to which a refusal needs attention, even if other emails are accepted: a relay may refuse some.
    static let recent = Duration.seconds(3600)
    /// The age up to which a refusal needs attention if no email was accepted since: the longest wait between two
    /// attempts is half of it.
    package static let kept = Duration.seconds(86_400)
    /// The size limit of the answer, enough to recognise it.
    private static let answerMax = 200

    /// The relay's answer, or the connection error; one line without credentials and addresses.
    package let answer: String
    /// The number of refusals since ``since``.
    package let count: Int
    /// The first refusal and the last.
    package let since: Timestamp
    package let last: Timestamp
    /// The time of the last accepted email; `nil` if unknown.
    package let accepted: Timestamp?

    /// Creates a record from the fields of a store.
    package init(
        answer: String,
        count: Int,
        since: Timestamp,
        last: Timestamp,
        accepted: Timestamp?
    ) {
        self.answer = answer
        self.count = count
        self.since = since
        self.last = last
        self.accepted = accepted
    }

    /// Adds a refusal to `before`, if that is not over.
    package init(_ before: RelayFailures?, refusing answer: String, at now: Timestamp) {
        let known = before.flatMap { $0.needsAttention(at: now) ? $0 : nil }
        let line = answer.split(whereSeparator: \.isNewline).joined(separator: " ")
        self.init(
            answer: String(line.prefix(Self.answerMax)),
            count: (known?.count ?? 0).addingSaturating(1),
            since: known?.since ?? now,
            last: now,
            accepted: before?.accepted
        )
    }

    /// Whether operators should check it.
    package func needsAttention(at now: Timestamp) -> Bool {
        if now - last <= Self.recent { return true }
        return now - last <= Self.kept && (accepted.map { $0 <= last } ?? true)
    }

    /// The problem, in one sentence.
    package var message: String {
        let count = count == 1 ? "a mail" : "\(count) mails"
        return "The mail relay has not accepted \(count) since \(since): \(answer)"
    }
}

/// A cluster-wide store of the mail relay's refusals.
package protocol RelayFailureStore: Sendable {
    /// Records that an email was not accepted for a reason that is about the relay.
    func noteRefusal(_ answer: String, at now: Timestamp) async throws(StoreError)

    /// Records that an email was accepted.
    func noteAcceptance(at now: Timestamp) async throws(StoreError)

    /// Returns the last refusals; `nil` when there were none within ``RelayFailures/kept``.
    func relayFailures() async throws(StoreError) -> RelayFailures?
}
