/// A list as a sequence of its objects, page after page, read as far as it is asked for.
///
/// *Order*: newest first from the top or after ``PageCursor/startingAfter(_:)``; oldest first after
/// ``PageCursor/endingBefore(_:)``, which is what follows a list from where one left off.
/// *Limits*: one page is held at a time. *Errors*: iterating throws what reading a page throws, and
/// ``StripeError/malformed(_:)`` when a list says that more follows and does not move on.
/// *Source*: <https://docs.stripe.com/api/pagination/auto>.
public struct StripePages<Element: StripeObject>: AsyncSequence, Sendable {
    /// How iterating fails.
    public typealias Failure = StripeError

    private let first: PageCursor?
    private let read: @Sendable (PageCursor?) async throws(StripeError) -> StripeList<Element>

    /// Creates the sequence from its first cursor and what reads one page.
    init(
        from first: PageCursor?,
        read: @escaping @Sendable (PageCursor?) async throws(StripeError) -> StripeList<Element>
    ) {
        self.first = first
        self.read = read
    }

    /// Starts at the first page.
    public func makeAsyncIterator() -> Iterator {
        Iterator(cursor: first, read: read)
    }

    /// Walks the pages.
    public struct Iterator: AsyncIteratorProtocol {
        private var cursor: PageCursor?
        private var page: ArraySlice<Element> = []
        private var isLast = false
        private let read: @Sendable (PageCursor?) async throws(StripeError) -> StripeList<Element>

        init(
            cursor: PageCursor?,
            read: @escaping @Sendable (PageCursor?) async throws(StripeError) -> StripeList<Element>
        ) {
            self.cursor = cursor
            self.read = read
        }

        /// The next object; reads another page when this one is used up.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(StripeError) -> Element? {
            if page.isEmpty, !isLast { try await readNextPage() }
            return page.popFirst()
        }

        private mutating func readNextPage() async throws(StripeError) {
            let list = try await read(cursor)
            isLast = !list.hasMore
            guard let newest = list.data.first, let oldest = list.data.last else {
                isLast = true
                return
            }
            var nextCursor = PageCursor.startingAfter(oldest.id)
            page = list.data[...]
            if case .endingBefore = cursor {
                nextCursor = .endingBefore(newest.id)
                page = list.data.reversed()[...]
            }
            // A cursor that stands still would read the same page for ever.
            guard nextCursor != cursor else {
                throw .malformed(
                    MalformedBody(
                        field: "data",
                        reason: "the page repeats the object it was asked to begin beside",
                        status: 200,
                        requestID: nil
                    )
                )
            }
            cursor = nextCursor
        }
    }
}

/// One page of a list, newest first.
///
/// *Shape*: `{"object": "list", "data": […], "has_more": true, "url": "/v1/events"}`.
/// *Source*: <https://docs.stripe.com/api/pagination>.
public struct StripeList<Element: Codable & Sendable>: Codable, Sendable {
    /// The page.
    public let data: [Element]
    /// Whether more follow in the direction asked for.
    public let hasMore: Bool
    /// The list's path.
    public let url: String?

    private enum CodingKeys: String, SnakeKey {
        case data, url, hasMore
    }
}

/// Where a page of a list begins.
///
/// *Source*: <https://docs.stripe.com/api/pagination>.
public enum PageCursor: Hashable, Sendable {
    /// The objects older than this one, newest first.
    case startingAfter(String)
    /// The objects newer than this one; pages taken in turn run from old to new.
    case endingBefore(String)

    /// The query parameter.
    var parameter: (String, String) {
        switch self {
        case .startingAfter(let id): ("starting_after", id)
        case .endingBefore(let id): ("ending_before", id)
        }
    }
}

/// A span of creation times, in seconds since 1970; `created[gte]=…` and so on.
public struct TimeBounds: Hashable, Sendable {
    /// Later than this.
    public var after: Int?
    /// At this time or later.
    public var from: Int?
    /// Earlier than this.
    public var before: Int?
    /// At this time or earlier.
    public var through: Int?

    /// Creates bounds; those that are nil do not bound.
    public init(after: Int? = nil, from: Int? = nil, before: Int? = nil, through: Int? = nil) {
        self.after = after
        self.from = from
        self.before = before
        self.through = through
    }

    var parameters: [(String, String)] {
        [("gt", after), ("gte", from), ("lt", before), ("lte", through)]
            .compactMap { name, time in time.map { ("created[\(name)]", String($0)) } }
    }
}
