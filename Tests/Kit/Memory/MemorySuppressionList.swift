package import PollerDeliveries
package import PollerIdentity
package import PollerQueue
import Synchronization

/// A suppression list in memory that can be made to fail.
package final class MemorySuppressionList: SuppressionList {
    private let entries = Mutex<[ItemID: SuppressedRecipient]>([:])
    private let refusals = Mutex<[ItemID: Timestamp]>([:])
    private let failure = Mutex<StoreError?>(nil)
    private let failureAfterLift = Mutex<StoreError?>(nil)
    private let losesAnswer = Mutex(false)

    /// Creates an empty list.
    package init() {}

    /// Fails every call from now on; `nil` ends this.
    package func fail(with error: StoreError?) {
        failure.withLock { $0 = error }
    }

    /// Fails every call after the next recipient was lifted.
    package func fail(afterLiftWith error: StoreError) {
        failureAfterLift.withLock { $0 = error }
    }

    /// Loses the answer about the next lifted entry.
    package func loseNextAnswer() {
        losesAnswer.withLock { $0 = true }
    }

    package func reason(
        for recipient: MailAddress,
        of account: AccountID
    ) async throws(StoreError) -> SuppressionReason? {
        try check()
        return entries.withLock { entries in
            (entries[SuppressionEntry(everywhere: recipient).id]
                ?? entries[SuppressionEntry(recipient, of: account).id])?.reason
        }
    }

    package func suppress(
        _ entry: SuppressionEntry,
        because reason: SuppressionReason,
        noting note: SuppressionNote
    ) async throws(StoreError) {
        try check()
        entries.withLock {
            $0[entry.id] = SuppressedRecipient(entry: entry, reason: reason, note: note)
        }
    }

    package func lift(_ recipient: MailAddress, of account: AccountID) async throws(StoreError) {
        try check()
        entries.withLock { entries in
            entries[SuppressionEntry(everywhere: recipient).id] = nil
            entries[SuppressionEntry(recipient, of: account).id] = nil
        }
        refusals.withLock { $0[SuppressionEntry(recipient, of: account).id] = nil }
        if let error = failureAfterLift.withLock({ $0.take() }) { fail(with: error) }
    }

    package func lift(_ entry: SuppressionEntry) async throws(StoreError) -> SuppressedRecipient? {
        try check()
        refusals.withLock { $0[entry.id] = nil }
        let lifted = entries.withLock { $0.removeValue(forKey: entry.id) }
        let isLost = losesAnswer.withLock { losesAnswer in
            defer { losesAnswer = false }
            return losesAnswer
        }
        if isLost { throw .unavailable("the answer is lost") }
        return lifted
    }

    package func suppressed(
        limit: Int,
        cursor: String?
    ) async throws(StoreError) -> ListPage<SuppressedRecipient> {
        try check()
        let start = cursor.flatMap { Int($0) } ?? 0
        let all = entries.withLock { entries in
            entries.values.sorted {
                ($0.note.at, $0.entry.id.description) > ($1.note.at, $1.entry.id.description)
            }
        }
        let end = min(start + limit, all.count)
        guard start < end else { return ListPage(items: [], next: nil) }
        return ListPage(items: Array(all[start..<end]), next: end < all.count ? String(end) : nil)
    }

    package func noteRefusal(
        _ entry: SuppressionEntry,
        at now: Timestamp
    ) async throws(StoreError) -> Timestamp {
        try check()
        return refusals.withLock { refusals in
            let first = refusals[entry.id] ?? now
            refusals[entry.id] = first
            return first
        }
    }

    package func forgetRefusals(_ entry: SuppressionEntry) async throws(StoreError) {
        try check()
        refusals.withLock { $0[entry.id] = nil }
    }

    private func check() throws(StoreError) {
        if let error = failure.withLock(\.self) { throw error }
    }
}
