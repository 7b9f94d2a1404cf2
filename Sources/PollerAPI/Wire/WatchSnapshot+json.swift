import Poller

extension WatchSnapshot {
    /// The watch on the wire.
    ///
    /// `outcome`: what became of the enqueue this answers, when it answers one.
    func json(outcome: EnqueueResult.Outcome? = nil) -> String {
        let state = watch.state
        var json = JSONObject()
        json.add("id", watch.key.id.description)
        json.add("source", watch.key.source.description)
        json.add("kind", watch.key.kind.rawValue)
        json.add("account", watch.key.account.description)
        json.add("state", closed == nil ? "open" : "closed")
        if let closed { json.add("closed_reason", closed.rawValue) }
        json.add("status", orNull: state.status?.description)
        json.add("final", closed == .settled)
        json.add("seq", watch.seq)
        json.add("run", watch.run)
        json.add("attempts", state.attempts)
        json.add("created_at", watch.createdAt.description)
        json.add("deadline_at", watch.deadline.description)
        json.add("next_poll_at", orNull: nextPollAt?.description)
        json.add("last_polled_at", orNull: state.lastPolledAt?.description)
        if let lastError { json.add("last_error", lastError) }
        json.add("policy", watch.policy.name)
        json.add("until", watch.goal.rawValue)
        json.add("notify", raw: JSONObject.array(notify.map { RawJSON.literal($0.description) }))
        json.add("metadata", raw: metadata.isEmpty ? "{}" : metadata)
        if let object = lastEvent.flatMap({ RawJSON(unchecked: $0.json).member("object") }),
            object.description != "null"
        {
            json.add("object", raw: object.description)
        }
        if watch.charge?.isNothing == false || state.charge != .none {
            var charge = JSONObject()
            charge.add("state", state.charge.name)
            charge.add("id", orNull: state.charge.charge?.description)
            json.add("charge", raw: charge.text)
        }
        if let outcome { json.add("outcome", outcome.rawValue) }
        return json.text
    }
}

extension EnqueueResult {
    /// One line of a batch's answer.
    var json: String {
        var json = JSONObject()
        json.add("source", key.source.description)
        json.add("account", key.account.description)
        json.add("outcome", outcome.rawValue)
        json.add("run", run)
        json.add("seq", seq)
        return json.text
    }
}

extension StoreStats {
    /// The counts on the wire; see ``StoreStats`` for what each means.
    var json: String {
        var json = JSONObject()
        json.add("pending", pending)
        json.add("overdue", overdue)
        json.add("leased", leased)
        json.add("closed", closed)
        json.add("outbox", outbox)
        json.add("undelivered", undelivered)
        json.add("lanes", lanes)
        return json.text
    }
}
