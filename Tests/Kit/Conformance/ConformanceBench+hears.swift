import Poller

extension ConformanceBench {
    /// Fails unless a stream of news tells a partition, or that news were lost, while `act` is
    /// repeated: the news may be lost, as often as not while the listener still connects.
    func hears(
        _ partition: Int,
        from stream: AsyncStream<Int?>,
        _ what: String,
        while act: () async throws -> Void
    ) async throws {
        let heard = HeardNews()
        let listener = Task {
            for await news in stream where news == partition {
                await heard.note()
            }
        }
        defer { listener.cancel() }
        try await eventually(what) {
            try await act()
            return await heard.isNoted
        }
    }
}

/// Whether the news came; an actor, because listener and test share it.
private actor HeardNews {
    private(set) var isNoted = false

    func note() {
        isNoted = true
    }
}
