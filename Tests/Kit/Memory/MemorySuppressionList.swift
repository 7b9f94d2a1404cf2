package import Poller
import Synchronization

/// A suppression list in memory, that can be made to fail.
package final class MemorySuppressionList: SuppressionList {
    private let entries = Mutex<[ItemID: SuppressionReason]>([:])
    private let failure = Mutex<StoreError?>(nil)

    /// An empty list.
    package init() {}

    /// Fails every call from now on; nil ends it.
    package func fail(with error: StoreError?) {
        failure.withLock { $0 = error }
    }

    package func reason(
        for recipient: MailAddress,
        of account: AccountID
    ) async throws(StoreError) -> SuppressionReason? {
        try check()
        return entries.withLock { entries in
            entries[SuppressionEntry(everywhere: recipient).id]
                ?? entries[SuppressionEntry(recipient, of: account).id]
        }
    }

    package func suppress(
        _ entry: SuppressionEntry,
        because reason: SuppressionReason
    ) async throws(StoreError) {
        try check()
        entries.withLock { $0[entry.id] = reason }
    }

    package func lift(_ recipient: MailAddress, of account: AccountID) async throws(StoreError) {
        try check()
        entries.withLock { entries in
            entries[SuppressionEntry(everywhere: recipient).id] = nil
            entries[SuppressionEntry(recipient, of: account).id] = nil
        }
    }

    private func check() throws(StoreError) {
        if let error = failure.withLock(\.self) { throw error }
    }
}
