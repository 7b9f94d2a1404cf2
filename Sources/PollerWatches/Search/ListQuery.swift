package import PollerIdentity
package import PollerPayments

/// The filters and the position of a list of watches.
package struct ListQuery: Hashable, Sendable {
    /// Open watches or closed watches; `nil` selects both.
    package enum State: String, Hashable, Sendable, CaseIterable {
        case open
        case closed
        /// The closed watches that an operator must check: closed as dead.
        case quarantined
    }

    package let state: State?
    package let status: SourceStatus?
    package let payment: PaymentState?
    package let accounts: AccountSet
    package let kind: SourceKind?
    package let search: SearchQuery?
    /// The size of the page, 1–500, because a page is one read from Redis.
    package let limit: Int
    /// The `next` of the previous page; `nil` for the first page.
    package let cursor: String?

    package init(
        state: State? = nil,
        status: SourceStatus? = nil,
        payment: PaymentState? = nil,
        accounts: AccountSet = .all,
        kind: SourceKind? = nil,
        search: SearchQuery? = nil,
        limit: Int = 50,
        cursor: String? = nil
    ) {
        self.state = state
        self.status = status
        self.payment = payment
        self.accounts = accounts
        self.kind = kind
        self.search = search
        self.limit = min(max(limit, 1), 500)
        self.cursor = cursor
    }

    /// Returns the query with a search added.
    package func searching(for search: SearchQuery) -> ListQuery {
        ListQuery(
            state: state,
            status: status,
            payment: payment,
            accounts: accounts,
            kind: kind,
            search: search,
            limit: limit,
            cursor: cursor
        )
    }

    /// Whether a watch passes the filters.
    ///
    /// Orders and incidents are not watches and do not pass.
    package func matches(_ snapshot: WatchSnapshot) -> Bool {
        let watch = snapshot.watch
        let fits =
            switch state {
            case nil: true
            case .open: snapshot.closed == nil
            case .closed: snapshot.closed != nil
            case .quarantined: snapshot.closed == .dead
            }
        return fits
            && (status == nil || status == watch.state.status)
            && (payment == nil || payment == snapshot.payment?.state)
            && accounts.contains(watch.key.account)
            && (kind.map { $0 == watch.key.kind } ?? watch.key.kind.isOfWatches)
            && (search?.matches(snapshot) ?? true)
    }

    /// Whether the query selects only closed watches.
    package var isOfClosed: Bool {
        state == .closed || search?.isOfClosed ?? false
    }

    /// Whether filters other than the state exclude watches.
    package var isSelective: Bool { accounts != .all || isSelectiveAmongAccounts }
    /// Whether filters other than the state and the accounts exclude watches.
    ///
    /// Stores apply the account filter themselves.
    package var isSelectiveAmongAccounts: Bool {
        status != nil || payment != nil || kind != nil
            || search.map { !$0.conditions.isEmpty } ?? false
    }

    /// Whether the query reads many records or entries.
    ///
    /// It filters watches, and no index selects the matches, or only by a prefix that very many words may share.
    package var isScan: Bool { isSelective && search?.lookup.map(\.hasBeginnings) ?? true }
}
