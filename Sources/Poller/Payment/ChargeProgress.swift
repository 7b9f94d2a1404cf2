/// How far the charge of a watched source has come.
///
/// ```
/// none ─▶ made(pending) ─▶ succeeded | failed
///   └──▶ doubtful ─▶ the same, by repeating with the same key or by looking
/// ```
package enum ChargeProgress: Hashable, Sendable {
    /// Nobody has tried.
    case none
    /// We asked, and nobody knows what became of it: only the same key may be tried again.
    case doubtful
    /// There is a charge, `ch_…`, which the bank has not answered yet.
    case pending(ChargeID)
    /// The money is there.
    case succeeded(ChargeID)
    /// Declined, or impossible: nothing more is tried. The event says why.
    case failed

    /// Whether nothing more will become of it.
    package var isSettled: Bool {
        switch self {
        case .none, .doubtful, .pending: false
        case .succeeded, .failed: true
        }
    }

    /// The charge itself.
    package var charge: ChargeID? {
        switch self {
        case .pending(let id), .succeeded(let id): id
        case .none, .doubtful, .failed: nil
        }
    }

    /// Reads a state back from its ``name`` and ``charge``; none when they make none.
    init(name: String, charge: ChargeID?) {
        switch (name, charge) {
        case ("doubtful", _): self = .doubtful
        case ("pending", let id?): self = .pending(id)
        case ("succeeded", let id?): self = .succeeded(id)
        case ("failed", _): self = .failed
        default: self = .none
        }
    }

    /// The state in one word, for readers.
    package var name: String {
        switch self {
        case .none: "none"
        case .doubtful: "doubtful"
        case .pending: "pending"
        case .succeeded: "succeeded"
        case .failed: "failed"
        }
    }
}

/// A charge of ours at the upstream, `ch_…` or `py_…`.
package typealias ChargeID = SourceID
