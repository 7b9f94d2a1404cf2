/// A store that can check its own invariants, and repair the damage of a crash or a bug.
package protocol Auditing: Sendable {
    /// Checks a part of the store and returns the next position.
    ///
    /// Start with `nil` and continue until `next` is `nil`. Each step checks a bounded number of items atomically, so
    /// it may run on a live store. With `repairing` each fault is repaired when it is found.
    func audit(after cursor: String?, repairing: Bool) async throws(StoreError) -> AuditPage
}

/// The result of one audit step.
package struct AuditPage: Hashable, Sendable {
    /// The number of checked items and lanes.
    package let checked: Int
    /// The faults, one sentence each.
    package let faults: [String]
    /// Those of them that are not repaired even on request.
    package let lasting: [String]
    /// The cursor of the next step; `nil` at the end.
    package let next: String?

    /// Creates a page from the values of a store.
    package init(checked: Int, faults: [String], lasting: [String] = [], next: String?) {
        self.checked = checked
        self.faults = faults
        self.lasting = lasting
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
