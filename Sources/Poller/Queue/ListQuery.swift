/// Which watches to list, and from where.
package struct ListQuery: Hashable, Sendable {
    /// Open ones, closed ones, or (nil) both, open ones first.
    package enum State: String, Hashable, Sendable, CaseIterable {
        case open
        case closed
        /// Of the closed ones, those a person must look at: closed as dead.
        case quarantined
    }

    package let state: State?
    package let status: SourceStatus?
    package let account: AccountID?
    package let kind: SourceKind?
    /// 1–500: a page is read in one go from Redis.
    package let limit: Int
    /// `next` of the page before; nil for the first page.
    package let cursor: String?

    /// Describes a page.
    package init(
        state: State? = nil,
        status: SourceStatus? = nil,
        account: AccountID? = nil,
        kind: SourceKind? = nil,
        limit: Int = 50,
        cursor: String? = nil
    ) {
        self.state = state
        self.status = status
        self.account = account
        self.kind = kind
        self.limit = min(max(limit, 1), 500)
        self.cursor = cursor
    }

    /// Whether a watch passes the filters.
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
            && (account == nil || account == watch.key.account)
            && (kind == nil || kind == watch.key.kind)
    }
}

/// Some items, and where the next ones are.
package struct ListPage<Item: Sendable>: Sendable {
    package let items: [Item]
    /// The cursor of the next page; nil when this was the last.
    package let next: String?

    /// Puts a page together.
    package init(items: [Item], next: String?) {
        self.items = items
        self.next = next
    }
}
