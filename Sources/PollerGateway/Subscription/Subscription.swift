import PollerDeliveries
import PollerIdentity
import PollerWatches
import PollerWire

/// A validated subscription of a client.
///
/// | named | covers |
/// |---|---|
/// | nothing | every source that the credentials may read |
/// | sources without an account | those of the credentials' account, otherwise of the default account |
/// | one source of one account, its kind known | that watch, with its log read instead of the outbox |
/// | a source whose kind is not known | its watches of every kind |
/// | types | only events of these types, and the end of a named source in any case |
/// | types `operator.…` | the cluster itself, which no other subscription covers |
///
/// A subscription to an account or source of another tenant is rejected, not silently reduced. Silence would look like
/// a source without changes.
struct Subscription: Hashable, Sendable {
    /// The position to begin at.
    enum Start: Hashable, Sendable {
        /// With events recorded from now on.
        case now
        /// With the state of each named source, then its changes.
        case snapshot
        /// After the events that the client has.
        case cursor(String)
        /// After an event of the one watch.
        case seq(Int)

        /// Whether it is a position that the client received before.
        var isPosition: Bool {
            switch self {
            case .now, .snapshot: false
            case .cursor, .seq: true
            }
        }
    }

    /// The subscription's name, chosen by the gateway, such as `s1`.
    let id: String
    /// The client's number for the request.
    let ref: Int?
    /// The accounts it covers.
    let accounts: AccountSet
    /// The named sources, or `nil` for every source of the account.
    let sources: Set<SourceID>?
    /// Exact types, or prefixes that end in `.*`.
    ///
    /// `nil` means every type.
    let types: [String]?
    let from: Start
    let principal: Principal
    /// The only watch, or `nil` if it covers several sources, accounts or kinds.
    let watch: WatchKey?

    /// The events that it must examine.
    ///
    /// Types narrow it only if no source is named, because the end of a named source is sent in any case.
    var interest: Interest {
        if let watch { return Interest(in: .watch(watch)) }
        if let sources { return Interest(in: .sources(sources, of: accounts)) }
        return Interest(in: .accounts(accounts), types: types)
    }

    /// Whether an event has a requested type that the credentials may read.
    func includes(_ event: PollerWatches.Event) -> Bool {
        EventSubject.matches(event.type, types)
            && EventSubject.matches(event.type, principal.types)
    }

    /// Whether an event may be of one of several watches of a named source, which is settled when all are closed.
    ///
    /// A subscription that names no source gets the end of each watch.
    func mayBeOfSeveral(_ event: PollerWatches.Event) -> Bool {
        guard watch == nil, sources != nil, accounts.names?.count == 1 else { return false }
        return SourceKind.allCases.contains(event.key.kind)
            && SourceKind(inferredFrom: event.key.source) == nil
    }

    /// Validates a request to subscribe.
    static func parse(
        _ message: ClientMessage,
        id: String,
        principal: Principal,
        limits: GatewayLimits
    ) throws(InvalidInput) -> Subscription {
        let from: Start
        switch (message.from, message.afterSeq?.value) {
        case (nil, let seq?): from = .seq(seq)
        case (_, _?):
            throw InvalidInput("after_seq", "excludes from; leave one out")
        case (nil, nil), ("now", nil): from = .now
        case ("snapshot", nil): from = .snapshot
        case (let cursor?, nil): from = .cursor(cursor)
        }
        // As in the whole API, a source without an account belongs to the default account.
        let usesDefaultAccount = message.account == nil && message.sources != nil
        return try Subscription(
            id: id,
            ref: message.ref?.value,
            account: usesDefaultAccount ? try principal.defaultAccount : message.account,
            sources: message.sources,
            types: message.types,
            from: from,
            principal: principal,
            limits: limits
        )
    }

    /// Validates a subscription.
    ///
    /// `kind` is that of a single source, if its id does not imply it. A client secret is that of one watch, and so
    /// covers one kind only.
    init(
        id: String,
        ref: Int? = nil,
        account: String?,
        sources names: [String]?,
        types: [String]?,
        kind: String? = nil,
        from: Start,
        principal: Principal,
        limits: GatewayLimits
    ) throws(InvalidInput) {
        if types?.contains(where: EventSubject.isOfOperators) == true,
            !principal.accounts.isAll
        {
            throw InvalidInput(
                "types",
                "has operator.…, which tells of the whole cluster: not open to these credentials"
            )
        }
        let named = try account.map { text throws(InvalidInput) in try AccountID(text) }
        if let named, !principal.accounts.contains(named) {
            throw InvalidInput("account", "is not open to these credentials")
        }
        accounts = principal.accounts.narrowed(to: named)
        let sources = try Self.sources(names, principal, limits)
        if let types {
            guard (1...limits.typesMax).contains(types.count),
                types.allSatisfy({ !$0.isEmpty && $0.utf8.count <= 130 })
            else {
                throw InvalidInput(
                    "types",
                    "must name 1 to \(limits.typesMax) types such as source.chargeable "
                        + "or source.*; leave it out for all"
                )
            }
        }
        let isOfWatch = kind != nil || principal.credential == .clientSecret
        if let source = sources?.first, sources?.count == 1, accounts.names?.count == 1,
            let account = accounts.standard, isOfWatch || SourceKind(inferredFrom: source) != nil
        {
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
                "from",
                "can be snapshot only for named sources; list the others over the API"
            )
        }
        if case .seq(let seq) = from, watch == nil || seq < 0 {
            throw InvalidInput(
                "after_seq",
                "must be 0 or more, for one source of one account, with its kind if the "
                    + "ID has none of Stripe's prefixes"
            )
        }
        self.id = id
        self.ref = ref
        self.sources = sources
        self.types = types
        self.from = from
        self.principal = principal
    }

    /// Returns the named sources, or those of the credentials.
    private static func sources(
        _ names: [String]?,
        _ principal: Principal,
        _ limits: GatewayLimits
    ) throws(InvalidInput) -> Set<SourceID>? {
        guard let names else { return principal.sources }
        guard (1...limits.sourcesMax).contains(names.count) else {
            throw InvalidInput(
                "sources",
                "must name 1 to \(limits.sourcesMax) sources; leave it out for all"
            )
        }
        var sources: Set<SourceID> = []
        for name in names { sources.insert(try SourceID(name)) }
        guard principal.sources.map(sources.isSubset(of:)) ?? true else {
            throw InvalidInput("sources", "has one that is not open to these credentials")
        }
        return sources
    }
}
