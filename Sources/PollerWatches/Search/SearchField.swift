import PollerIdentity
import PollerPayments

/// A field of a query; any other name is a metadata key.
package enum SearchField: String, Hashable, Sendable, CaseIterable {
    case source
    /// The order of the watch, or in its metadata.
    case order
    case account
    case kind
    /// The status in the upstream's terms.
    case status
    /// The payment state.
    case payment
    case state
    /// The close reason.
    case ended
    case method
    case amount
    case currency
    /// A part of a `notify` URL of the watch.
    case endpoint
    /// A part of the last error, or `any` or `none`.
    case error
    case created
    case closed

    /// The valid values; `nil` for any.
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

    /// Whether it can be compared with `<` and `>`.
    var isOrdered: Bool {
        switch self {
        case .amount, .created, .closed: true
        case .source, .order, .account, .kind, .status, .payment, .state, .ended, .method,
            .currency, .endpoint, .error:
            false
        }
    }

    /// Returns the values of a watch in lower case, for fields that are compared as text.
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
        return texts.compactMap { $0.map(TextForm.normal) }
    }

    private static func states(of snapshot: WatchSnapshot) -> [String] {
        switch snapshot.closed {
        case nil: [ListQuery.State.open.rawValue]
        case .dead: [ListQuery.State.closed.rawValue, ListQuery.State.quarantined.rawValue]
        default: [ListQuery.State.closed.rawValue]
        }
    }
}
