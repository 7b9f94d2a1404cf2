import Poller

/// A watch in Redis.
///
/// *Shape*: facts = the policy's name, state `status|attempts|step|failures|last polled ms|malformed`
/// (missing before the first poll), private value = client secret. Account and kind are told by
/// the lane: written again they would cost a watch 48 bytes.
enum WatchRecord: ItemRecord {
    static func facts(of watch: NewWatch) -> String {
        watch.policy.name
    }

    static func item(_ fields: ItemFields) -> Watch? {
        guard let (account, kind) = LaneID(unchecked: fields.lane).accountAndKind,
            let policy = PollPolicy.all.first(where: { $0.name == fields.facts })
        else { return nil }
        return Watch(
            key: WatchKey(
                account: account,
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
                String(state.malformed),
            ]),
            error: change.lastError ?? "",
            event: change.event
        )
    }

    private static func state(_ text: String) -> WatchState {
        let parts = Packed.split(text)
        guard parts.count == 6 else { return WatchState() }
        return WatchState(
            status: parts[0].isEmpty ? nil : SourceStatus(unchecked: parts[0]),
            attempts: Int(parts[1]) ?? 0,
            step: Int(parts[2]) ?? 0,
            failures: Int(parts[3]) ?? 0,
            malformed: Int(parts[5]) ?? 0,
            lastPolledAt: Int64(parts[4]).map(Timestamp.init(ms:))
        )
    }
}
