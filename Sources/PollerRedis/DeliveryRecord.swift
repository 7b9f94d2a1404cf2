import Poller

/// A delivery in Redis.
///
/// *Shape*: source = the watch's source, facts `kind|account`, lane = the endpoint, state
/// `cursor|failures|attempts|retry at ms`
/// (missing before the first attempt), private value = the URL.
enum DeliveryRecord: ItemRecord {
    static func facts(of watch: WatchKey) -> String {
        Packed.join([watch.kind.rawValue, watch.account.description])
    }

    static func item(_ fields: ItemFields) -> Delivery? {
        let facts = Packed.split(fields.facts)
        guard facts.count == 2, let kind = SourceKind(rawValue: facts[0]),
            let url = try? NotifyURL(fields.privateValue)
        else { return nil }
        return Delivery(
            endpoint: EndpointID(unchecked: fields.lane),
            url: url,
            watch: WatchKey(
                account: AccountID(unchecked: facts[1]),
                source: SourceID(unchecked: fields.source),
                kind: kind
            ),
            state: state(fields.state)
        )
    }

    static func writing(_ change: DeliveryChange) -> ItemWriting {
        let state = change.state
        return ItemWriting(
            state: Packed.join([
                String(state.cursor), String(state.failures), String(state.attempts),
                state.retryAt.map { String($0.ms) } ?? "",
            ]),
            error: change.lastError ?? "",
            event: nil
        )
    }

    private static func state(_ text: String) -> DeliveryState {
        let parts = Packed.split(text)
        guard parts.count == 4 else { return DeliveryState() }
        return DeliveryState(
            cursor: Int(parts[0]) ?? 0,
            failures: Int(parts[1]) ?? 0,
            attempts: Int(parts[2]) ?? 0,
            retryAt: Int64(parts[3]).map(Timestamp.init(ms:))
        )
    }
}
