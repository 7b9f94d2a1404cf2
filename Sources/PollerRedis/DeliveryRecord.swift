import Poller

/// A delivery in Redis.
///
/// *Shape*: source = the watch's source, facts `kind|account`, lane = the endpoint, state
/// `cursor|failures|attempts` (empty before the first attempt), private value = the URL.
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
            ]),
            error: change.lastError ?? "",
            event: nil
        )
    }

    private static func state(_ text: String) -> DeliveryState {
        let parts = Packed.split(text).map { Int($0) ?? 0 }
        guard parts.count == 3 else { return DeliveryState() }
        return DeliveryState(cursor: parts[0], failures: parts[1], attempts: parts[2])
    }
}
