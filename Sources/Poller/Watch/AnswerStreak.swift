package import PollerIdentity

/// Answers in a row that say nothing of the payment, all of one kind.
///
/// An outage of an upstream, or of a proxy in front of it, must not decide about a payment. So what such
/// answers mean depends on how long they have lasted (``PollDecider``), and the store remembers that.
///
/// *Shape* in a store: the letter of the kind and the instant in base 36, ms since 1970, as `mlxyz12ab`.
package struct AnswerStreak: Hashable, Sendable {
    /// What the answers have in common.
    package enum Kind: Character, Hashable, Sendable, CaseIterable {
        /// They make no sense (``PollResult/malformed(_:)``).
        case malformed = "m"
        /// The upstream does not know the object (``PollResult/gone``).
        case absent = "g"

        /// The kind of an answer; `nil` for one that ends every streak.
        init?(_ result: PollResult) {
            switch result {
            case .malformed: self = .malformed
            case .gone: self = .absent
            case .observed, .rateLimited, .objectLimited, .lockTimeout, .unavailable, .unauthorized,
                .revoked, .unserved, .unaskable:
                return nil
            }
        }
    }

    package let kind: Kind
    /// The poll that got the first of them.
    package let since: Timestamp

    /// A streak that began then.
    package init(_ kind: Kind, since: Timestamp) {
        self.kind = kind
        self.since = since
    }

    /// Reads back ``packed``; `nil` for anything else.
    package init?(packed text: some StringProtocol) {
        guard let kind = text.first.flatMap(Kind.init(rawValue:)),
            let ms = Int64(text.dropFirst(), radix: 36), ms >= 0
        else { return nil }
        self.init(kind, since: Timestamp(ms: ms))
    }

    /// The streak as a store keeps it.
    package var packed: String { "\(kind.rawValue)" + String(since.ms, radix: 36) }
}

extension WatchSnapshot {
    /// Whether a hint of any kind makes the watch due, or opens it again.
    ///
    /// One in quarantine is opened where its answers were not understood. One that has ended its workers waits
    /// for a person; its state counts no such answers.
    package var opensOnHint: Bool {
        guard let closed else { return true }
        return closed.opensOnHint || closed == .dead && watch.state.malformed > 0
    }
}
