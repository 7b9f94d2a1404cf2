package import PollerIdentity
package import PollerQueue
import SafeNumbers

/// What a mail relay refuses for a reason that is its own or ours, and no recipient's.
///
/// A relay that blocks us, wants another login or has lost its TLS refuses the mail of every payer. Nobody but an
/// operator can mend that, so it is an incident (``IncidentKind/mailRelay``), and the mails are tried again.
package struct RelayTrouble: Hashable, Sendable {
    /// While a refusal is this young it is trouble, also beside mails that are accepted: a relay may refuse some.
    static let recent = Duration.seconds(3600)
    /// Without an accepted mail it is trouble for this long: the longest wait between two attempts is half of it.
    package static let kept = Duration.seconds(86_400)
    /// Enough to recognise an answer by.
    private static let answerMax = 200

    /// What the relay answered, or why it could not be asked; one line without credentials and addresses.
    package let answer: String
    /// How often, since ``since``.
    package let count: Int
    /// When it began, and when it was seen last.
    package let since: Timestamp
    package let last: Timestamp
    /// When the relay accepted a mail last; nil where that is not known.
    package let accepted: Timestamp?

    /// Puts a record together, as a store does.
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

    /// The trouble `before`, if it is not over yet, and one refusal more.
    package init(_ before: RelayTrouble?, refusing answer: String, at now: Timestamp) {
        let known = before.flatMap { $0.isTrouble(at: now) ? $0 : nil }
        let line = answer.split(whereSeparator: \.isNewline).joined(separator: " ")
        self.init(
            answer: String(line.prefix(Self.answerMax)),
            count: (known?.count ?? 0).addingSaturating(1),
            since: known?.since ?? now,
            last: now,
            accepted: before?.accepted
        )
    }

    /// Whether operators should look at it.
    package func isTrouble(at now: Timestamp) -> Bool {
        if now - last <= Self.recent { return true }
        return now - last <= Self.kept && (accepted.map { $0 <= last } ?? true)
    }

    /// What is wrong, one sentence.
    package var message: String {
        let count = count == 1 ? "a mail" : "\(count) mails"
        return "The mail relay has not accepted \(count) since \(since): \(answer)"
    }
}

/// Keeps for the whole cluster what the mail relay refuses.
package protocol RelayTroubleStore: Sendable {
    /// Notes that a mail was not accepted, for a reason that is about the relay.
    func noteRefusal(_ answer: String, at now: Timestamp) async throws(StoreError)

    /// Notes that a mail was accepted.
    func noteAcceptance(at now: Timestamp) async throws(StoreError)

    /// What was refused last; nil when nothing was within ``RelayTrouble/kept``.
    func relayTrouble() async throws(StoreError) -> RelayTrouble?
}
