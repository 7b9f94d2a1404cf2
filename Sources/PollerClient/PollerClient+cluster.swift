import NIOHTTP1

extension PollerClient {
    /// The processes that work on the cluster, all in one page.
    public func workers() async throws -> Page<Worker> {
        try Page(try await send(.GET, "/v1/workers"), Worker.init(json:))
    }

    /// Tells when a watch is polled next and what it waits for.
    public func explain(_ name: WatchName) async throws -> WatchExplanation {
        let answer = try await send(.GET, name.path + "/explain", query: name.query)
        guard let explanation = WatchExplanation(json: answer.text) else {
            throw PollerError.unintelligible(
                "the answer is not an explanation: check the URL and the server's version"
            )
        }
        return explanation
    }
}
