package import PollerIdentity

/// Consecutive answers of one kind that contain no payment status.
///
/// An outage of an upstream, or of a proxy in front of it, must not decide about a payment. The meaning of such answers
/// therefore depends on how long the streak has lasted (`PollDecider`), so the store keeps it.
///
/// *Shape* in a store: the letter of the kind and the instant in base 36, ms since 1970, as `mlxyz12ab`.
package struct AnswerStreak: Hashable, Sendable {
    /// The kind of the answers.
    package enum Kind: Character, Hashable, Sendable, CaseIterable {
        /// Unreadable answers (`PollResult.malformed(_:)`).
        case malformed = "m"
        /// The upstream does not know the object (`PollResult.gone`).
        case absent = "g"
    }

    package let kind: Kind
    /// The time of the poll that returned the first answer.
    package let since: Timestamp

    /// Creates a streak that began at `since`.
    package init(_ kind: Kind, since: Timestamp) {
        self.kind = kind
        self.since = since
    }

    /// Parses ``packed``; `nil` for any other text.
    package init?(packed text: some StringProtocol) {
        guard let kind = text.first.flatMap(Kind.init(rawValue:)),
            let ms = Int64(text.dropFirst(), radix: 36), ms >= 0
        else { return nil }
        self.init(kind, since: Timestamp(ms: ms))
    }

    /// The stored form.
    package var packed: String { "\(kind.rawValue)" + String(since.ms, radix: 36) }
}

extension WatchSnapshot {
    /// Whether a hint of any kind makes the watch due, or reopens it.
    ///
    /// A quarantined watch is reopened if its answers were unreadable. A watch that ended its workers waits for an
    /// operator; its state counts no malformed answers.
    package var opensOnHint: Bool {
        guard let closed else { return true }
        return closed.opensOnHint || closed == .dead && watch.state.malformed > 0
    }
}
