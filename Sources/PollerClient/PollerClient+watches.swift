import NIOHTTP1

extension PollerClient {
    /// Watches a source, or joins its open watch; the answer's `outcome` says which.
    @discardableResult
    public func enqueue(_ request: WatchRequest) async throws -> Watch {
        let body = try request.line(Self.encoder())
        return try watch(try await send(.POST, "/v1/watches", body: body))
    }

    /// Reads a watch, open or closed.
    public func watch(_ name: WatchName) async throws -> Watch {
        try watch(try await send(.GET, name.path, query: name.query))
    }

    /// Reads a watch once it has recorded something beyond `seq`; nil when it has not within
    /// `wait`, at most a minute.
    public func watch(
        _ name: WatchName,
        after seq: Int,
        wait: Duration = .zero
    ) async throws -> Watch? {
        let query =
            name.query + [
                ("after_seq", String(seq)), ("wait", wait > .zero ? wait.spanText : nil),
            ]
        let answer = try await send(.GET, name.path, query: query, wait: wait)
        return answer.status == 304 ? nil : try watch(answer)
    }

    /// A page of watches.
    ///
    /// - `state`: `open` or `closed`; nil for both, open ones first.
    /// - `limit`: 1–500.
    /// - `cursor`: ``Page/next`` of the page before.
    public func list(
        state: String? = nil,
        status: String? = nil,
        account: String? = nil,
        kind: String? = nil,
        limit: Int = 50,
        cursor: String? = nil
    ) async throws -> Page<Watch> {
        let query: [(String, String?)] = [
            ("state", state), ("status", status), ("account", account), ("kind", kind),
            ("limit", String(limit)), ("cursor", cursor),
        ]
        return try Page(try await send(.GET, "/v1/watches", query: query), Watch.init(json:))
    }

    /// Makes an open watch due now.
    @discardableResult
    public func poll(_ name: WatchName) async throws -> Watch {
        try watch(try await send(.POST, name.path + "/poll", query: name.query))
    }

    /// Stops watching.
    @discardableResult
    public func cancel(_ name: WatchName) async throws -> Watch {
        try watch(try await send(.DELETE, name.path, query: name.query))
    }

    private func watch(_ answer: Answer) throws(PollerError) -> Watch {
        guard let watch = Watch(json: answer.text) else {
            throw .unintelligible(
                "the answer is not a watch: check the URL and the server's version"
            )
        }
        return watch
    }
}
