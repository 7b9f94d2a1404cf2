package import PollerIdentity

/// The actions that a watch takes before a deadline of its payment; unset ones are taken from the account, or not
/// taken.
///
/// *Shape* within a request: `"authorisation":"capture","abandoned":"cancel"`.
package struct DeadlineActs: Hashable, Sendable {
    /// The action on a held payment before the hold ends.
    package enum Authorisation: String, Hashable, Sendable, CaseIterable {
        /// Capture the whole capturable amount.
        case capture
        /// Release the hold.
        case cancel
        /// Only warn, even if the account has a default.
        case leave
    }

    /// The action on an unfinished payment at the end of its watch.
    package enum Abandoned: String, Hashable, Sendable, CaseIterable {
        /// Cancel it, so that it cannot be paid later.
        case cancel
        /// Take no action, even if the account has a default.
        case leave
    }

    package var authorisation: Authorisation?
    package var abandoned: Abandoned?

    /// The value without any action set.
    package static let unset = DeadlineActs()

    /// Creates a value from the actions.
    package init(authorisation: Authorisation? = nil, abandoned: Abandoned? = nil) {
        self.authorisation = authorisation
        self.abandoned = abandoned
    }

    /// Returns the actions with unset ones taken from `other`.
    package func filled(by other: DeadlineActs) -> DeadlineActs {
        DeadlineActs(
            authorisation: authorisation ?? other.authorisation,
            abandoned: abandoned ?? other.abandoned
        )
    }

    /// The action on a hold; `nil` for none.
    package var ofHold: DeadlineAct? {
        switch authorisation {
        case .capture: .capture
        case .cancel: .release
        case .leave, nil: nil
        }
    }

    /// The action on an unfinished payment; `nil` for none.
    package var ofAbandoned: DeadlineAct? { abandoned == .cancel ? .abandon : nil }

    /// Checks that the actions apply to objects of a kind.
    package func check(_ kind: SourceKind) throws(InvalidInput) {
        guard ofHold == nil || kind == .paymentIntent else {
            throw InvalidInput(
                "authorisation",
                "applies only to payment intents (pi_…); Poller takes no hold on a \(kind.rawValue)"
            )
        }
        guard ofAbandoned == nil || kind.isIntent else {
            throw InvalidInput(
                "abandoned",
                "applies only to intents (pi_… and seti_…); a \(kind.rawValue) ends automatically"
            )
        }
    }
}

extension DeadlineActs {
    /// Parses `authorisation` and `abandoned`.
    package init(authorisation: String?, abandoned: String?) throws(InvalidInput) {
        self.init(
            authorisation: try Self.choice(authorisation, "authorisation"),
            abandoned: try Self.choice(abandoned, "abandoned")
        )
    }

    private static func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ text: String?,
        _ field: String
    ) throws(InvalidInput) -> Choice? {
        guard let text else { return nil }
        guard let choice = Choice(rawValue: text) else {
            let all = Choice.allCases.map(\.rawValue).joined(separator: ", ")
            throw InvalidInput(field, "must be one of \(all)")
        }
        return choice
    }
}

extension SourceKind {
    /// Whether a shop can capture or cancel it.
    package var isIntent: Bool { self == .paymentIntent || self == .setupIntent }
}

/// An action before a deadline.
package enum DeadlineAct: String, Hashable, Sendable, CaseIterable {
    /// Capture the held money.
    case capture
    /// Release the hold.
    case release
    /// Cancel an unfinished payment.
    case abandon

    /// The participle of the action, for sentences such as "it was captured".
    package var participle: String {
        switch self {
        case .capture: "captured"
        case .release: "released"
        case .abandon: "cancelled"
        }
    }
}

/// The result of one attempt to capture or cancel a payment.
package enum SettleResult: Hashable, Sendable {
    /// Done by this request or an earlier one.
    case done
    /// The payment has changed, so that the action no longer applies.
    case superseded(String)
    /// Refused permanently; an operator must act.
    case refused(String)
    /// Not done; the attempt is repeated later, after `retryAfter` at least.
    ///
    /// `isCertain`: no request of this attempt can have done it, now or later, because none was executed.
    case postponed(String, retryAfter: Duration?, isCertain: Bool = false)
    /// Whether it was done is unknown until the next poll.
    case unknown(String)
}

extension SettleResult {
    /// Whether the attempt has certainly done nothing.
    package var isWithoutEffect: Bool {
        switch self {
        case .refused: true
        case .postponed(_, _, let isCertain): isCertain
        case .done, .superseded, .unknown: false
        }
    }

    /// The class of the result, for logs and metrics.
    package var name: String {
        switch self {
        case .done: "done"
        case .superseded: "outrun"
        case .refused: "refused"
        case .postponed: "postponed"
        case .unknown: "unknown"
        }
    }
}
