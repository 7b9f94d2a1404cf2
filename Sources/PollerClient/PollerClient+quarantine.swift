import NIOHTTP1

extension PollerClient {
    /// A page of the watches that a person must look at, in the order in which they were closed;
    /// their `lastError` says why.
    ///
    /// - `limit`: 1–500.
    /// - `cursor`: ``Page/next`` of the page before.
    public func quarantine(
        account: String? = nil,
        kind: String? = nil,
        limit: Int = 50,
        cursor: String? = nil
    ) async throws -> Page<Watch> {
        let query: [(String, String?)] = [
            ("account", account), ("kind", kind), ("limit", String(limit)), ("cursor", cursor),
        ]
        return try Page(try await send(.GET, "/v1/quarantine", query: query), Watch.init(json:))
    }

    /// Watches a quarantined source again, with the span it had at first.
    @discardableResult
    public func redrive(_ name: WatchName) async throws -> Watch {
        let path = "/v1/quarantine/\(Self.percentEncoded(name.source))/redrive"
        let answer = try await send(.POST, path, query: name.query)
        guard let watch = Watch(json: answer.text) else {
            throw PollerError.unintelligible(
                "the answer is not a watch: check the URL and the server's version"
            )
        }
        return watch
    }
}
