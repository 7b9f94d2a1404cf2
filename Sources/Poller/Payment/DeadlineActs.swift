package import PollerIdentity

/// What a watch was told to do before a deadline of its payment passes; what is not said is left to the
/// account, and then left alone.
///
/// *Shape* within a request: `"authorisation":"capture","abandoned":"cancel"`.
package struct DeadlineActs: Hashable, Sendable {
    /// What is done about money that is held for the shop, before the hold ends.
    package enum Authorisation: String, Hashable, Sendable, CaseIterable {
        /// It is taken, all that may be.
        case capture
        /// It is let go.
        case cancel
        /// Nothing but the warnings, whatever the account says.
        case leave
    }

    /// What is done about a payment that nobody has finished, at the end of its watch.
    package enum Abandoned: String, Hashable, Sendable, CaseIterable {
        /// It is cancelled, so that nobody pays it any more.
        case cancel
        /// Nothing, whatever the account says.
        case leave
    }

    package var authorisation: Authorisation?
    package var abandoned: Abandoned?

    /// Nothing is said.
    package static let unsaid = DeadlineActs()

    /// Describes what is to be done.
    package init(authorisation: Authorisation? = nil, abandoned: Abandoned? = nil) {
        self.authorisation = authorisation
        self.abandoned = abandoned
    }

    /// The same; what is not said in it is as `other` says.
    package func filled(by other: DeadlineActs) -> DeadlineActs {
        DeadlineActs(
            authorisation: authorisation ?? other.authorisation,
            abandoned: abandoned ?? other.abandoned
        )
    }

    /// What is to be done about a hold; nil for nothing.
    package var ofHold: DeadlineAct? {
        switch authorisation {
        case .capture: .capture
        case .cancel: .release
        case .leave, nil: nil
        }
    }

    /// What is to be done about a payment that nobody has finished; nil for nothing.
    package var ofAbandoned: DeadlineAct? { abandoned == .cancel ? .abandon : nil }

    /// Whether objects of a kind can be treated so.
    package func check(_ kind: SourceKind) throws(InvalidInput) {
        guard ofHold == nil || kind == .paymentIntent else {
            throw InvalidInput(
                field: "authorisation",
                message:
                    "is for payment intents, pi_…; of a \(kind.rawValue) no hold is taken by us"
            )
        }
        guard ofAbandoned == nil || kind.isIntent else {
            throw InvalidInput(
                field: "abandoned",
                message: "is for intents, pi_… and seti_…; a \(kind.rawValue) ends by itself"
            )
        }
    }
}

extension DeadlineActs {
    /// Reads `authorisation` and `abandoned` as somebody has written them.
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
            throw InvalidInput(field: field, message: "must be one of \(all)")
        }
        return choice
    }
}

extension SourceKind {
    /// Whether it is one that a shop may capture or cancel.
    package var isIntent: Bool { self == .paymentIntent || self == .setupIntent }
}

/// One thing that is done before a deadline passes.
package enum DeadlineAct: String, Hashable, Sendable, CaseIterable {
    /// The money that is held is taken.
    case capture
    /// The hold is let go.
    case release
    /// A payment that nobody has finished is cancelled.
    case abandon

    /// What it does, for an operator to read: "it was …".
    var participle: String {
        switch self {
        case .capture: "captured"
        case .release: "released"
        case .abandon: "cancelled"
        }
    }

    /// The idempotency key of this act: of the watch, its run, and how many looks had been recorded.
    ///
    /// Whoever takes over after a crash has seen no more of them, and sends the same key. After an answer
    /// that was recorded the next try has another one: an upstream that stores its failures would repeat
    /// them. That an act happens once is sure without a key: what was captured or cancelled is not in a
    /// status any more in which it could be. 40 characters of the 255 allowed.
    package func idempotencyKey(of watch: Watch) -> String {
        let named = [
            "\(watch.key.account)", watch.key.kind.rawValue, "\(watch.key.source)",
            "\(watch.run)", "\(watch.state.attempts)", rawValue,
        ]
        return "poller-deadline:\(Digest.base64url(of: named, bytes: 18))"
    }
}

/// Captures and cancels payments before their deadlines pass, where a watch was told to.
package protocol Settler: Sendable {
    /// What is done for watches of this account that say nothing.
    func standing(for account: AccountID) -> DeadlineActs

    /// Does it, with ``DeadlineAct/idempotencyKey(of:)``, to what was seen a moment ago.
    ///
    /// Never throws: whatever happens is one of the results. What has become of the payment the next look
    /// tells.
    func settle(_ watch: Watch, by act: DeadlineAct, timeout: Duration) async -> SettleResult
}

/// What came of one try to capture or cancel a payment.
package enum SettleResult: Hashable, Sendable {
    /// It was done, by this request or an earlier one.
    case done
    /// The payment has gone on by itself, and the act has no sense any more.
    case outrun(String)
    /// Refused for good; a person must look.
    case refused(String)
    /// Certainly not done; try again later, after `retryAfter` at least.
    case postponed(String, retryAfter: Duration?)
    /// Whether it was done is not known: the next look tells.
    case unknown(String)
}

extension SettleResult {
    /// The class of the result, for logs and metrics.
    package var name: String {
        switch self {
        case .done: "done"
        case .outrun: "outrun"
        case .refused: "refused"
        case .postponed: "postponed"
        case .unknown: "unknown"
        }
    }
}
