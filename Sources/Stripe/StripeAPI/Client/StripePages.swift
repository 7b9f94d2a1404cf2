/// A list of objects as an asynchronous sequence that loads pages on demand.
///
/// *Order*: newest first from the beginning or after ``PageCursor/startingAfter(_:)``; oldest first with
/// ``PageCursor/endingBefore(_:)``, which continues a list from the last object seen.
/// *Limits*: one page is in memory at a time. *Errors*: iteration throws the errors of reading a page, and
/// ``StripeError/malformed(_:)`` when a list claims to have more objects but repeats the cursor.
/// *Source*: <https://docs.stripe.com/api/pagination/auto>.
public struct StripePages<Element: StripeObject>: AsyncSequence, Sendable {
    /// The error thrown by iteration.
    public typealias Failure = StripeError

    private let first: PageCursor?
    private let read: @Sendable (PageCursor?) async throws(StripeError) -> StripeList<Element>

    /// Creates a sequence from its first cursor and a function that reads one page.
    init(
        from first: PageCursor?,
        read: @escaping @Sendable (PageCursor?) async throws(StripeError) -> StripeList<Element>
    ) {
        self.first = first
        self.read = read
    }

    /// Creates an iterator that starts at the first page.
    public func makeAsyncIterator() -> Iterator {
        Iterator(cursor: first, read: read)
    }

    /// Iterates over the objects of all pages.
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

        /// Returns the next object, and reads the next page when the current one is exhausted.
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
            // A repeated cursor would read the same page forever.
            guard nextCursor != cursor else {
                throw .malformed(
                    MalformedBody(
                        field: "data",
                        reason: "the page repeats the object of its cursor",
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
    /// The objects of the page.
    public let data: [Element]
    /// Whether more objects follow in the requested direction.
    public let hasMore: Bool
    /// The path of the list.
    public let url: String?

    private enum CodingKeys: String, SnakeKey {
        case data, url, hasMore
    }
}

/// The position of a page in a list.
///
/// *Source*: <https://docs.stripe.com/api/pagination>.
public enum PageCursor: Hashable, Sendable {
    /// Objects older than this one, newest first.
    case startingAfter(String)
    /// Objects newer than this one; successive pages run from old to new.
    case endingBefore(String)

    /// The query parameter.
    var parameter: (String, String) {
        switch self {
        case .startingAfter(let id): ("starting_after", id)
        case .endingBefore(let id): ("ending_before", id)
        }
    }
}

/// A range of creation times in seconds since 1970, sent as `created[gte]=…` and so on.
public struct TimeBounds: Hashable, Sendable {
    /// Later than this time.
    public var after: Int?
    /// At this time or later.
    public var from: Int?
    /// Earlier than this time.
    public var before: Int?
    /// At this time or earlier.
    public var through: Int?

    /// Creates a range; a `nil` bound is open.
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
