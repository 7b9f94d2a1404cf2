package import JSONText
package import Logging
import Metrics
package import PollerIdentity
package import PollerQueue

/// The record of changes and their authors, newest first, limited in number and age.
///
/// It keeps entries for days or months. The log contains the same lines for longer retention.
package protocol AuditTrail: Sendable {
    /// Records a change with the store's time, and deletes entries beyond the bounds.
    func note(_ change: AuditedChange) async throws(StoreError) -> AuditEntry

    /// Returns a page of the entries that the caller may see, newest first.
    ///
    /// A page reads a limited number of entries, so it may be empty and still have a next one.
    func entries(_ query: AuditQuery) async throws(StoreError) -> ListPage<AuditEntry>
}

/// The bounds of the trail.
package struct AuditBounds: Hashable, Sendable {
    /// The default bounds: about 8 MB at 400 bytes per entry; people make some hundred changes a day.
    package static let standard = AuditBounds(countMax: 20_000, ageMax: .seconds(400 * 86_400))
    /// The number of entries that a page reads, which takes the store about 2 ms.
    package static let scanMax = 2000

    package let countMax: Int
    /// The age limit: enough for a yearly review, while names of people are not kept forever.
    package let ageMax: Duration

    package init(countMax: Int, ageMax: Duration) {
        self.countMax = countMax
        self.ageMax = ageMax
    }
}

/// The filters of the trail.
package struct AuditQuery: Hashable, Sendable {
    /// The accounts that the caller may access.
    package var accounts = AccountSet.all
    /// The account of the changes.
    package var account: AccountID?
    /// The author, by the name or ID of the key.
    package var by: String?
    package var action: String?
    /// The target of the change, by its ID or its name.
    package var target: String?
    package var since: Timestamp?
    /// The end of the time range, exclusive.
    package var until: Timestamp?
    package var limit = 50
    /// `ListPage.next` of the page before.
    package var cursor: String?

    /// Creates a query without filters.
    package init() {}

    /// Returns the entry in the form that the caller may see; `nil` when it does not match.
    package func visible(_ entry: AuditEntry) -> AuditEntry? {
        guard let visible = entry.visible(to: accounts) else { return nil }
        let change = visible.change
        if let account, change.account != account { return nil }
        if let by, change.by.name != by, change.by.key?.description != by { return nil }
        if let action, change.action != action { return nil }
        if let target, change.target.id != target, change.target.name != target { return nil }
        if let since, visible.at < since { return nil }
        if let until, visible.at >= until { return nil }
        return visible
    }
}

/// Records changes in the trail and in the log.
///
/// The change comes first, so a crash between the two costs the entry, never the change. The log line is written before
/// the store is called: an entry that the store does not accept is only in the log, which says so.
package struct AuditRecorder: Sendable {
    private let trail: any AuditTrail
    private let logger: Logger

    /// Creates a recorder that writes to `trail`, and to the log at info.
    package init(trail: any AuditTrail, logger: Logger) {
        self.trail = trail
        self.logger = logger
    }

    /// Records a change; never fails, because the change has been made.
    package func record(_ change: AuditedChange) async {
        logger.info(
            change.refused == nil ? "changed" : "change refused",
            metadata: change.metadata
        )
        // Not cancellable: the change was made even if the client disconnects.
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
            "change not written to the audit trail; recorded in this log entry only",
            metadata: change.metadata.merging(["error": "\(kept)"]) { $1 }
        )
    }
}

extension AuditedChange {
    /// The log metadata, with the same fields as the entry.
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

/// The fields of an object, for an entry of the trail.
package struct AuditFacts: Sendable {
    /// The length in bytes above which a value is replaced by its length: an entry is a line, not a copy.
    private static let valueBytesMax = 300
    /// The size limit of all values of one side, in bytes.
    private static let bytesMax = 4096

    private let members: [(name: String, value: RawJSON)]

    /// Creates facts from the members of a JSON object, without those in `hidden`.
    package init(of object: RawJSON, without hidden: Set<String> = []) {
        members = (object.members ?? []).filter { !hidden.contains($0.name) }
            .map { ($0.name, $0.value) }
    }

    /// Creates facts from texts by name.
    package init(_ texts: KeyValuePairs<String, String>) {
        members = texts.map { ($0.key, RawJSON(unchecked: JSONWriter.literal($0.value))) }
    }

    /// Returns only the members with these names.
    package func only(_ names: Set<String>) -> AuditFacts {
        AuditFacts(members: members.filter { names.contains($0.name) })
    }

    /// Returns the facts with one more text.
    package func with(_ name: String, _ text: String) -> AuditFacts {
        AuditFacts(members: members + [(name, RawJSON(unchecked: JSONWriter.literal(text)))])
    }

    private init(members: [(name: String, value: RawJSON)]) {
        self.members = members
    }

    /// Returns the differences between two states; all members of the other side if one is missing.
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

    /// The members without null and empty values.
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
