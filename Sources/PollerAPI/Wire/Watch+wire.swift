import JSONText
import Poller
import PollerIdentity
import PollerOperations
import PollerPayments
import PollerQueue
import PollerWatches
import PollerWire

extension NewWatch {
    /// Checks a request to watch a source.
    ///
    /// `locator` resolves the source of a URL, and `endpoints` determines the URLs that can be reached.
    ///
    /// Errors: a ``Problem`` that names the field.
    init(
        _ request: WatchRequest,
        for caller: Caller,
        locator: (any SourceLocator)?,
        endpoints: EndpointBackend? = nil
    ) throws(Problem) {
        let key = try WatchKey(request, caller, locator)
        if request.movesMoney { try caller.require(.charge) }
        let charge = try request.charge.map { wire throws(Problem) in try ChargeInstruction(wire) }
        self = try Problem.checked { () throws(InvalidInput) in
            var urls: [NotifyURL] = []
            for (index, text) in (request.notify ?? []).enumerated() {
                let url = try NotifyURL(text, field: "notify[\(index)]")
                try endpoints?.check(url, field: "notify[\(index)]")
                try url.check(for: caller, of: key.account, field: "notify[\(index)]")
                if !urls.contains(url) { urls.append(url) }
            }
            return try NewWatch(
                key: key,
                policy: try request.policy.map { name throws(InvalidInput) in
                    try PollPolicy(named: name.rawValue)
                } ?? .auto,
                goal: try request.until.map { name throws(InvalidInput) in
                    try WatchGoal(named: name.rawValue)
                } ?? .settled,
                timeout: request.timeout?.duration,
                notify: urls,
                clientSecret: try request.clientSecret.map { text throws(InvalidInput) in
                    try ClientSecret(text)
                },
                metadata: request.metadata.map { $0.isEmpty ? "" : $0.json.description } ?? "",
                charge: charge,
                acts: try DeadlineActs(
                    authorisation: request.authorisation?.rawValue,
                    abandoned: request.abandoned?.rawValue
                ),
                order: try request.order.map { text throws(InvalidInput) in try OrderID(text) }
            )
        }
    }
}

extension ChargeInstruction {
    /// Checks the `charge` of a request.
    ///
    /// Errors: a ``Problem`` that names the field.
    init(_ charge: WatchCharge) throws(Problem) {
        guard !charge.isNothing else {
            self = .nothing
            return
        }
        self = try Problem.checked { () throws(InvalidInput) in
            try ChargeInstruction(
                amount: try Self.sum(charge.amount, "charge.amount"),
                currency: charge.currency,
                note: charge.note,
                statementDescriptor: charge.statementDescriptor,
                metadata: charge.metadata?.dictionary ?? [:],
                sharing: try ChargeSharing(
                    feeAmount: try Self.sum(
                        charge.feeAmount,
                        "charge.application_fee_amount"
                    ),
                    onBehalfOf: charge.onBehalfOf,
                    transfer: try charge.transfer.map { transfer throws(InvalidInput) in
                        ChargeSharing.Transfer(
                            destination: transfer.destination,
                            amount: try Self.sum(transfer.amount, "charge.transfer_data.amount")
                        )
                    }
                )
            )
        }
    }

    private static func sum(_ number: Int?, _ field: String) throws(InvalidInput) -> Amount? {
        guard let number else { return nil }
        guard let amount = Amount(positive: number) else {
            throw InvalidInput(
                field,
                "must be a whole number of 1 to \(Amount.max), in the currency's smallest unit"
            )
        }
        return amount
    }
}

extension WatchKey {
    /// Creates the key of a request: from `source` with its account and kind, or from a `url`.
    fileprivate init(
        _ request: WatchRequest,
        _ caller: Caller,
        _ locator: (any SourceLocator)?
    ) throws(Problem) {
        let source = try Problem.checked { () throws(InvalidInput) in
            try request.source.map { text throws(InvalidInput) in try SourceID(text) }
        }
        let account = try Problem.checked { () throws(InvalidInput) in
            try request.account.map { text throws(InvalidInput) in try AccountID(text) }
        }
        if let url = request.url {
            guard request.kind == nil || request.kind == Open(.http) else {
                throw Problem(.invalidValue, "A watch with a url is of kind http.", field: "kind")
            }
            let found = try Problem.checked { () throws(InvalidInput) in
                guard let locator else { throw InvalidInput("url", "is not supported here") }
                return try locator.key(of: url, account: account, among: caller.accounts)
            }
            guard source == nil || source == found.source else {
                throw Problem.value(
                    "source",
                    "is not the id in the url, \(found.source): leave it out, or correct one."
                )
            }
            self = found
            return
        }
        guard let source else {
            throw Problem.missing(
                "source",
                "is required: the ID to watch, or the url of a source of a configured upstream."
            )
        }
        self.init(
            account: try caller.account(named: account),
            source: source,
            kind: try SourceKind(named: request.kind?.rawValue, of: source, code: .invalidValue)
        )
        let key = self
        try Problem.checked { () throws(InvalidInput) in
            try locator?.check(key, among: caller.accounts)
        }
    }
}

extension WatchRequest {
    /// Whether the request moves money, now or before a deadline.
    fileprivate var movesMoney: Bool {
        charge?.isNothing == false || authorisation.map { $0.rawValue != "leave" } ?? false
            || abandoned.map { $0.rawValue != "leave" } ?? false
    }
}

extension SourceKind {
    /// Creates the named kind, or infers it from the ID's prefix.
    init(
        named name: String?,
        of source: SourceID,
        code: ProblemCode
    ) throws(Problem) {
        let all = Self.allCases.map(\.rawValue).joined(separator: ", ")
        guard let name else {
            guard let inferred = SourceKind(inferredFrom: source) else {
                throw Problem(
                    code == .invalidValue ? .missingField : code,
                    "kind is required, because the ID has none of Stripe's prefixes: \(all).",
                    field: "kind"
                )
            }
            self = inferred
            return
        }
        guard let kind = SourceKind(rawValue: name) else {
            throw Problem(code, "kind must be one of \(all).", field: "kind")
        }
        self = kind
    }
}

extension PollerWire.Watch {
    /// Creates the API representation of a watch.
    ///
    /// `outcome` is the outcome of the enqueue request, for its response.
    init(_ snapshot: WatchSnapshot, outcome: EnqueueResult.Outcome? = nil) {
        let watch = snapshot.watch
        let state = watch.state
        self.init()
        id = watch.key.id.description
        source = watch.key.source.description
        kind = Open(rawValue: watch.key.kind.rawValue)
        account = watch.key.account.description
        self.state = Open(snapshot.closed == nil ? .open : .closed)
        closedReason = snapshot.closed.map { Open(rawValue: $0.rawValue) }
        status = state.status?.description
        isFinal = snapshot.closed == .settled
        seq = watch.seq
        run = watch.run
        attempts = state.attempts
        createdAt = Time(watch.createdAt)
        // An open watch may outlive its deadline. A closed one shows the original deadline.
        deadlineAt = Time(snapshot.closed == nil ? watch.end : watch.deadline)
        nextPollAt = snapshot.nextPollAt.map { Time($0) }
        lastPolledAt = state.lastPolledAt.map { Time($0) }
        lastError = snapshot.lastError
        policy = watch.policy.name
        until = Open(rawValue: watch.goal.rawValue)
        notify = snapshot.notify.map(\.description)
        order = watch.order?.description
        metadata = Texts(unchecked: snapshot.metadata)
        let last = snapshot.lastEvent.flatMap { RawJSON(unchecked: $0.json).member("object") }
        object = last.flatMap { $0.isNull ? nil : $0 }
        if watch.charge?.isNothing == false || state.charge != .none { charge = state.charge.wire }
        authorisation = watch.acts.authorisation.map { Open(rawValue: $0.rawValue) }
        abandoned = watch.acts.abandoned.map { Open(rawValue: $0.rawValue) }
        payment = snapshot.payment?.wire
        let step = snapshot.lastEvent?.nextStep ?? .none
        nextStep = step == .none ? nil : step.wire
        mandate = PollerWatches.Mandate(snapshot).map { known in
            var wire = PollerWire.Mandate()
            wire.reference = known.reference
            wire.url = known.url
            return wire
        }
        if watch.key.kind == .source {
            deprecation = .ofSource(object?.member("type")?.string ?? payment?.method)
        }
        self.outcome = outcome.map { Open(rawValue: $0.name) }
    }
}

extension BatchResult.Result {
    /// Creates the result of one item of a batch.
    init(_ result: EnqueueResult) {
        self.init()
        source = result.key.source.description
        account = result.key.account.description
        outcome = Open(rawValue: result.outcome.name)
        run = result.run
        seq = result.seq
    }
}

extension Time {
    init(_ instant: Timestamp) { self.init(ms: instant.ms) }
}
