import Poller
import PollerIdentity
import PollerWire

/// What a client wants to hear, checked.
///
/// | named | is about |
/// |---|---|
/// | nothing | every source that the credentials may see |
/// | sources without an account | those of the credentials' own account, else of the default one |
/// | one source of one account | that watch: its own history is read instead of the outbox |
/// | types | only their events are told; the end of a source that was named is told all the same |
/// | types `operator.…` | the cluster itself; nobody else hears of that |
///
/// What credentials may not see cannot be asked for: an account or a source of others is refused
/// rather than left out, because silence would look like a source at which nothing happens.
struct Subscription: Hashable, Sendable {
    /// Where to begin.
    enum From: Hashable, Sendable {
        /// With what is recorded from now on.
        case now
        /// With the state of each named source, and then what changes.
        case snapshot
        /// After what the client has already.
        case cursor(String)
        /// After an event of the one watch.
        case seq(Int)

        /// Whether it is a place that the client was told of before.
        var isPlace: Bool {
            switch self {
            case .now, .snapshot: false
            case .cursor, .seq: true
            }
        }
    }

    /// Our name for it, such as `s1`.
    let id: String
    /// The client's own number for the request.
    let ref: Int?
    /// The accounts it is about.
    let accounts: AccountSet
    /// Nil when it is about several.
    let account: AccountID?
    /// Nil for every source of the account.
    let sources: Set<SourceID>?
    /// Exact types, or prefixes ending in `.*`; nil for every type.
    let types: [String]?
    let from: From
    let principal: Principal
    /// The one watch it is about; nil when it is about several, or of any account.
    let watch: WatchKey?

    /// What it hears of all that happens.
    ///
    /// Types narrow it only where no source is named: the end of one that was named is told all the same.
    var interest: Interest {
        if let watch { return Interest(in: .watch(watch)) }
        if let sources { return Interest(in: .sources(sources, of: accounts)) }
        return Interest(in: .accounts(accounts), types: types)
    }

    /// Whether an event is of a type that was asked for and may be told.
    func wants(_ event: Poller.Event) -> Bool {
        EventSubject.matches(event.type, types)
            && EventSubject.matches(event.type, principal.types)
    }

    /// Checks a request to subscribe.
    static func parse(
        _ message: ClientMessage,
        id: String,
        principal: Principal,
        limits: GatewayLimits
    ) throws(InvalidInput) -> Subscription {
        let from: From
        switch (message.from, message.afterSeq?.value) {
        case (nil, let seq?): from = .seq(seq)
        case (_, _?):
            throw InvalidInput(field: "after_seq", message: "excludes from; leave one out")
        case (nil, nil), ("now", nil): from = .now
        case ("snapshot", nil): from = .snapshot
        case (let cursor?, nil): from = .cursor(cursor)
        }
        // As everywhere in the API: a source without an account is one of the default account.
        let isMeant = message.account == nil && message.sources != nil
        return try Subscription(
            id: id,
            ref: message.ref?.value,
            account: isMeant ? try principal.standardAccount : message.account,
            sources: message.sources,
            types: message.types,
            from: from,
            principal: principal,
            limits: limits
        )
    }

    /// Checks what somebody wants to hear.
    ///
    /// `kind` is that of a single source, when its id does not tell it.
    init(
        id: String,
        ref: Int? = nil,
        account: String?,
        sources names: [String]?,
        types: [String]?,
        kind: String? = nil,
        from: From,
        principal: Principal,
        limits: GatewayLimits
    ) throws(InvalidInput) {
        if types?.contains(where: EventSubject.isOfOperators) == true,
            !principal.accounts.isAll
        {
            throw InvalidInput(
                field: "types",
                message: "has operator.…, which tells of the whole cluster: not open to these "
                    + "credentials"
            )
        }
        let named = try account.map { text throws(InvalidInput) in try AccountID(text) }
        if let named, !principal.accounts.contains(named) {
            throw InvalidInput(field: "account", message: "is not open to these credentials")
        }
        accounts = principal.accounts.narrowed(to: named)
        self.account = accounts.names?.count == 1 ? accounts.standard : nil
        let sources = try Self.sources(names, principal, limits)
        if let types {
            guard (1...limits.typesMax).contains(types.count),
                types.allSatisfy({ !$0.isEmpty && $0.utf8.count <= 130 })
            else {
                throw InvalidInput(
                    field: "types",
                    message: "must name 1 to \(limits.typesMax) types such as source.chargeable "
                        + "or source.*; leave it out for all"
                )
            }
        }
        if let source = sources?.first, sources?.count == 1, let account = self.account {
            watch = try WatchKey(
                account: account.description,
                source: source.description,
                kind: kind
            )
        } else {
            watch = nil
        }
        if from == .snapshot, sources == nil {
            throw InvalidInput(
                field: "from",
                message: "can be snapshot only for named sources; list the others over the API"
            )
        }
        if case .seq(let seq) = from, watch == nil || seq < 0 {
            throw InvalidInput(
                field: "after_seq",
                message: "must be 0 or more, for one source of one account"
            )
        }
        self.id = id
        self.ref = ref
        self.sources = sources
        self.types = types
        self.from = from
        self.principal = principal
    }

    /// The named sources, or those the credentials are good for.
    private static func sources(
        _ names: [String]?,
        _ principal: Principal,
        _ limits: GatewayLimits
    ) throws(InvalidInput) -> Set<SourceID>? {
        guard let names else { return principal.sources }
        guard (1...limits.sourcesMax).contains(names.count) else {
            throw InvalidInput(
                field: "sources",
                message: "must name 1 to \(limits.sourcesMax) sources; leave it out for all"
            )
        }
        var sources: Set<SourceID> = []
        for name in names { sources.insert(try SourceID(name)) }
        guard principal.sources.map(sources.isSubset(of:)) ?? true else {
            throw InvalidInput(
                field: "sources",
                message: "has one that is not open to these credentials"
            )
        }
        return sources
    }
}
