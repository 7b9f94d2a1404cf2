import PollerIdentity

/// What a query may ask about; any other name is one of metadata.
package enum SearchField: String, Hashable, Sendable, CaseIterable {
    case source
    /// That of the watch, or of its metadata.
    case order
    case account
    case kind
    /// As the upstream names it.
    case status
    /// The word that is true of the money.
    case payment
    case state
    /// Why the watch was closed.
    case ended
    case method
    case amount
    case currency
    /// A part of a URL that the watch tells by itself.
    case endpoint
    /// A part of the last error, or `any` or `none`.
    case error
    case created
    case closed

    /// The words it may be compared with; nil for any.
    var words: [String]? {
        switch self {
        case .kind: SourceKind.allCases.map(\.rawValue)
        case .payment: PaymentState.allCases.map(\.rawValue)
        case .state: ListQuery.State.allCases.map(\.rawValue)
        case .ended: ClosedReason.allCases.map(\.rawValue)
        case .source, .order, .account, .status, .method, .amount, .currency, .endpoint, .error,
            .created, .closed:
            nil
        }
    }

    /// Whether it can be more or less than something.
    var isOrdered: Bool {
        switch self {
        case .amount, .created, .closed: true
        case .source, .order, .account, .kind, .status, .payment, .state, .ended, .method,
            .currency, .endpoint, .error:
            false
        }
    }

    /// What a watch has of it, in lower case; for those that are compared as texts.
    func texts(of snapshot: WatchSnapshot, _ keys: SearchKeys) -> [String] {
        let watch = snapshot.watch
        let texts: [String?] =
            switch self {
            case .source: ["\(watch.key.source)"]
            case .order:
                [watch.order?.description]
                    + SearchText.values(keys.names.filter { $0 == rawValue }, snapshot)
            case .account: ["\(watch.key.account)"]
            case .kind: [watch.key.kind.rawValue]
            case .status: [watch.state.status?.description]
            case .payment: [snapshot.payment?.state.rawValue]
            case .state: Self.states(of: snapshot)
            case .ended: [snapshot.closed?.rawValue]
            case .method: [snapshot.payment?.method?.name]
            case .currency: [snapshot.payment?.currency]
            case .amount, .endpoint, .error, .created, .closed: []
            }
        return texts.compactMap { $0.map(SearchText.normal) }
    }

    private static func states(of snapshot: WatchSnapshot) -> [String] {
        switch snapshot.closed {
        case nil: [ListQuery.State.open.rawValue]
        case .dead: [ListQuery.State.closed.rawValue, ListQuery.State.quarantined.rawValue]
        default: [ListQuery.State.closed.rawValue]
        }
    }
}
