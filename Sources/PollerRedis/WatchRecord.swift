import Poller

/// A watch in Redis.
///
/// *Shape*: facts `kind|policy|account`, state `status|attempts|step|failures|last polled ms`
/// (empty before the first poll), private value = client secret.
enum WatchRecord: ItemRecord {
    static func facts(of watch: NewWatch) -> String {
        Packed.join([
            watch.key.kind.rawValue, watch.policy.name, watch.key.account.description,
        ])
    }

    static func item(_ fields: ItemFields) -> Watch? {
        let facts = Packed.split(fields.facts)
        guard facts.count == 3, let kind = SourceKind(rawValue: facts[0]),
            let policy = PollPolicy.all.first(where: { $0.name == facts[1] })
        else { return nil }
        return Watch(
            key: WatchKey(
                account: AccountID(unchecked: facts[2]),
                source: SourceID(unchecked: fields.source),
                kind: kind
            ),
            policy: policy,
            createdAt: fields.began,
            deadline: fields.deadline,
            run: fields.run,
            seq: fields.seq,
            hintedAt: fields.hinted,
            clientSecret: fields.privateValue.isEmpty
                ? nil : ClientSecret(unchecked: fields.privateValue),
            state: state(fields.state)
        )
    }

    static func writing(_ change: WatchChange) -> ItemWriting {
        let state = change.state
        return ItemWriting(
            state: Packed.join([
                state.status?.description ?? "", String(state.attempts), String(state.step),
                String(state.failures), state.lastPolledAt.map { String($0.ms) } ?? "",
            ]),
            error: change.lastError ?? "",
            event: change.event
        )
    }

    private static func state(_ text: String) -> WatchState {
        let parts = Packed.split(text)
        guard parts.count == 5 else { return WatchState() }
        return WatchState(
            status: parts[0].isEmpty ? nil : SourceStatus(unchecked: parts[0]),
            attempts: Int(parts[1]) ?? 0,
            step: Int(parts[2]) ?? 0,
            failures: Int(parts[3]) ?? 0,
            lastPolledAt: Int64(parts[4]).map(Timestamp.init(ms:))
        )
    }
}
