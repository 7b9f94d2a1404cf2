package import Poller

/// What accounts have, counted one by one.
extension MemoryStore: AccountBook {
    package func accounts(
        limit: Int,
        cursor: String?
    ) async throws(StoreError) -> ListPage<AccountID> {
        var after = ""
        if let cursor {
            let text = Base64URL.decode(cursor).map { String(decoding: $0, as: UTF8.self) } ?? ""
            guard (try? AccountID(text)) != nil else { throw .unknownCursor }
            after = text + "/"
        }
        let names = Set(keys().map { $0.key.account.description + "/" }).filter { $0 > after }
            .sorted()
        let page = names.prefix(max(limit, 1)).map { AccountID(unchecked: String($0.dropLast())) }
        return ListPage(
            items: page,
            next: page.count < names.count
                ? page.last.map { Base64URL.encode($0.description.utf8) } : nil
        )
    }

    package func openWatches(of accounts: [AccountID]) async throws(StoreError) -> [Int] {
        let open = keys().filter(\.isOpen)
        return accounts.map { account in open.count { $0.key.account == account } }
    }

    package func openWatches(among keys: [WatchKey]) async throws(StoreError) -> Int {
        let open = Set(self.keys().filter(\.isOpen).map(\.key))
        return keys.count { open.contains($0) }
    }

    /// All watches there are; orders are none.
    private func keys() -> [(key: WatchKey, isOpen: Bool)] {
        reading { state, _ in
            state.queue.partitions.flatMap { partition in
                partition.items.values.map { item in
                    let snapshot = item.snapshot
                    return (snapshot.watch.key, snapshot.closed == nil)
                }
            }
        }
        .filter { $0.key.kind != .order }
    }
}
