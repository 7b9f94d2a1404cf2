package import JSONText
package import Logging
import Metrics
package import PollerIdentity
package import PollerQueue

/// What was changed by whom, newest first, bounded in number and age.
///
/// It answers "who was that?" for days or months; the log has the same line for whoever must keep
/// more.
package protocol AuditTrail: Sendable {
    /// Notes a change, with the store's time; what is too old or too much goes.
    func note(_ change: AuditedChange) async throws(StoreError) -> AuditEntry

    /// A page of what somebody may see, newest first.
    ///
    /// A page looks through a bounded number of entries, so it may be empty and yet have a next one.
    func entries(_ query: AuditQuery) async throws(StoreError) -> ListPage<AuditEntry>
}

/// How much of the trail is kept.
package struct AuditBounds: Hashable, Sendable {
    /// Entries: some 8 MB at 400 bytes each; people make some hundred changes a day.
    package static let standard = AuditBounds(countMax: 20_000, ageMax: .seconds(400 * 86_400))
    /// Entries that a page looks through: some 2 ms of the store.
    package static let scanMax = 2000

    package let countMax: Int
    /// A year's review finds the year; what names people is not kept for ever.
    package let ageMax: Duration

    /// Bounds of a trail.
    package init(countMax: Int, ageMax: Duration) {
        self.countMax = countMax
        self.ageMax = ageMax
    }
}

/// Which changes are asked for.
package struct AuditQuery: Hashable, Sendable {
    /// Whose changes may be seen.
    package var accounts = AccountSet.all
    /// Only of this account.
    package var account: AccountID?
    /// By the holder of this key, by its name or id.
    package var by: String?
    package var action: String?
    /// The target of the change, by its ID or its name.
    package var target: String?
    package var since: Timestamp?
    /// Before this instant.
    package var until: Timestamp?
    package var limit = 50
    /// `ListPage.next` of the page before.
    package var cursor: String?

    /// Everything.
    package init() {}

    /// The entry as it is told to who asks; nil when it is none of those asked for.
    package func told(_ entry: AuditEntry) -> AuditEntry? {
        guard let told = entry.told(to: accounts) else { return nil }
        let change = told.change
        if let account, change.account != account { return nil }
        if let by, change.by.name != by, change.by.key?.description != by { return nil }
        if let action, change.action != action { return nil }
        if let target, change.target.id != target, change.target.name != target { return nil }
        if let since, told.at < since { return nil }
        if let until, told.at >= until { return nil }
        return told
    }
}

/// Notes changes in the trail and in the log, for whoever makes them.
///
/// The change comes first, so a crash between the two costs the entry, never the change. The log's line
/// is written before the store is asked: what the store does not take is in the log alone, and said so.
package struct AuditRecorder: Sendable {
    private let trail: any AuditTrail
    private let logger: Logger

    /// Notes in `trail`, and in the log at info.
    package init(trail: any AuditTrail, logger: Logger) {
        self.trail = trail
        self.logger = logger
    }

    /// Notes a change; never fails, because the change has been made.
    package func record(_ change: AuditedChange) async {
        logger.info(
            change.refused == nil ? "changed" : "change refused",
            metadata: change.metadata
        )
        // Shielded: who hangs up after a change has made it all the same.
        let kept = await Task { [trail] in
            do throws(StoreError) {
                _ = try await trail.note(change)
                return nil as StoreError?
            } catch {
                return error
            }
        }.value
        guard let kept else { return }
        Counter(label: "poller_audit_lost_total").increment()
        logger.error(
            "change not in the audit trail; this log has it",
            metadata: change.metadata.merging(["error": "\(kept)"]) { $1 }
        )
    }
}

extension AuditedChange {
    /// The same fields as the entry has.
    fileprivate var metadata: Logger.Metadata {
        var metadata: Logger.Metadata = [
            "by": "\(by.name)", "action": "\(action)", "target.kind": "\(target.kind.rawValue)",
            "target": "\(target.id)",
        ]
        if let name = target.name { metadata["target.name"] = "\(name)" }
        if let key = by.key { metadata["key"] = "\(key)" }
        if let role = by.role { metadata["role"] = "\(role.rawValue)" }
        if let address { metadata["address"] = "\(address)" }
        if let request { metadata["request"] = "\(request)" }
        if let account { metadata["account"] = "\(account)" }
        if let before { metadata["before"] = "\(before)" }
        if let after { metadata["after"] = "\(after)" }
        if let refused { metadata["refused"] = "\(refused)" }
        return metadata
    }
}

/// The fields of something, for an entry of the trail.
package struct AuditFacts: Sendable {
    /// A value longer than that is told by its length: an entry is a line, not a copy.
    private static let valueBytesMax = 300
    /// All values of a side together.
    private static let bytesMax = 4096

    private let members: [(name: String, value: RawJSON)]

    /// The members of a JSON object, without those of `hidden`.
    package init(of object: RawJSON, without hidden: Set<String> = []) {
        members = (object.members ?? []).filter { !hidden.contains($0.name) }
            .map { ($0.name, $0.value) }
    }

    /// Some texts by name.
    package init(_ texts: KeyValuePairs<String, String>) {
        members = texts.map { ($0.key, RawJSON(unchecked: JSONWriter.literal($0.value))) }
    }

    /// Only the members of these names.
    package func only(_ names: Set<String>) -> AuditFacts {
        AuditFacts(members: members.filter { names.contains($0.name) })
    }

    /// The same with one text more.
    package func with(_ name: String, _ text: String) -> AuditFacts {
        AuditFacts(members: members + [(name, RawJSON(unchecked: JSONWriter.literal(text)))])
    }

    private init(members: [(name: String, value: RawJSON)]) {
        self.members = members
    }

    /// What differs between two states; nothing at all of a side that is not there.
    package static func difference(
        _ before: AuditFacts?,
        _ after: AuditFacts?
    ) -> (before: RawJSON?, after: RawJSON?) {
        guard let before, let after else {
            return (before?.present.json, after?.present.json)
        }
        let old = Dictionary(before.members.map { ($0.name, $0.value) }) { first, _ in first }
        let new = Dictionary(after.members.map { ($0.name, $0.value) }) { first, _ in first }
        let lost = before.members.filter { new[$0.name] != $0.value && !$0.value.isNull }
        let found = after.members.filter { old[$0.name] != $0.value && !$0.value.isNull }
        return (AuditFacts(members: lost).json, AuditFacts(members: found).json)
    }

    /// Without what says nothing.
    private var present: AuditFacts {
        AuditFacts(members: members.filter { !["null", "[]", "{}"].contains("\($0.value)") })
    }

    private var json: RawJSON {
        var left = Self.bytesMax
        let text = JSONWriter.text { json in
            json.object { json in
                for (name, value) in members where left > 0 {
                    left -= name.utf8.count + min(value.utf8.count, Self.valueBytesMax)
                    if name == "url", let url = value.string.flatMap({ try? NotifyURL($0) }) {
                        json.field(name, url.shortened)
                    } else if value.utf8.count > Self.valueBytesMax {
                        json.field(name, "(\(value.utf8.count) bytes)")
                    } else {
                        json.field(name, raw: value.utf8)
                    }
                }
            }
        }
        return RawJSON(unchecked: text)
    }
}
