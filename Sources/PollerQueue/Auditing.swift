/// A store that can check its own invariants, and mend what a crash or a bug has left.
package protocol Auditing: Sendable {
    /// Checks some of the store and says where to go on.
    ///
    /// Start with nil and go on until `next` is nil. Each step looks at a bounded number of
    /// items atomically, so it may run on a live store. With `repairing` each fault is mended
    /// when it is found.
    func audit(after cursor: String?, repairing: Bool) async throws(StoreError) -> AuditPage
}

/// What one step of an audit found.
package struct AuditPage: Hashable, Sendable {
    /// Items and lanes looked at.
    package let checked: Int
    /// What is wrong, one sentence each.
    package let faults: [String]
    /// Where to go on; nil at the end.
    package let next: String?

    /// Puts a page together, as a store does.
    package init(checked: Int, faults: [String], next: String?) {
        self.checked = checked
        self.faults = faults
        self.next = next
    }
}

extension Auditing {
    /// Checks everything.
    package func audit(repairing: Bool = false) async throws(StoreError) -> [String] {
        var faults: [String] = []
        var cursor: String?
        repeat {
            let page = try await audit(after: cursor, repairing: repairing)
            faults += page.faults
            cursor = page.next
        } while cursor != nil
        return faults
    }
}
