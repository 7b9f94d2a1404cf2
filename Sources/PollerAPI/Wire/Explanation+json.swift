import JSONText
import Poller

extension Explanation {
    /// The explanation on the wire; `standard` is what holds for lanes without their own limit.
    func json(standard: LaneLimit) -> String {
        let key = snapshot.watch.key
        var json = JSONObject()
        json.add("source", key.source.description)
        json.add("account", key.account.description)
        json.add("kind", key.kind.rawValue)
        switch place {
        case .waiting(let due, let isUrgent, let ahead):
            json.add("place", "waiting")
            json.add("due_at", due.description)
            json.add("urgent", isUrgent)
            json.add("ahead", ahead)
        case .leased(let owner, let until):
            json.add("place", "leased")
            json.add("owner", owner.description)
            json.add("until", until.description)
        case .closed(let reason):
            json.add("place", "closed")
            json.add("closed_reason", reason.rawValue)
        }
        json.add("earliest_poll_at", orNull: earliest?.description)
        json.add("reasons", raw: JSONObject.array(reasons.map { JSONWriter.literal($0) }))
        json.add("crashes", crashes)
        json.add("lane", raw: lane.json(standard: standard))
        return json.text
    }
}
