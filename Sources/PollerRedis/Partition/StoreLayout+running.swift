package import PollerQueue
package import RedisClient

/// Handling of a changed layout while processes run.
///
/// *Problem*: a process reads the layout at its start. A Redis that recovers empty has none. The next process to start
/// would create one with the default number of partitions, while running processes use another number. A copy from
/// before a repartition has another layout.
///
/// *Approach*: each process checks the layout every few seconds. If there is none, it restores its own, as it does with
/// the roots (``RedisSecrets``). If there is a different one, it cannot switch, because the items it has read and
/// claimed are in the partitions of its own: it reports that it must be restarted.
extension StoreLayout {
    /// The state of a store relative to a process's layout.
    package enum Status: Hashable, Sendable {
        /// It has that layout, or one with which the process can work.
        case fits
        /// It has none.
        case missing
        /// It has another one: the process must be restarted.
        case other(StoreLayout)

        /// Compares the stored layout with the one of a process.
        package init(of stored: StoreLayout?, to known: StoreLayout) {
            guard let stored else {
                self = .missing
                return
            }
            self = known.isFit(for: stored) ? .fits : .other(stored)
        }
    }

    /// Returns the state of the store relative to this layout; it never writes.
    package func status(on client: RedisClient) async throws(StoreError) -> Status {
        Status(of: try await Self.stored(on: client, namespace: namespace), to: self)
    }

    /// Writes this layout into a store that has lost its own, in one step.
    ///
    /// - Returns: whether it was written; false if there is one.
    package func restore(on client: RedisClient) async throws(StoreError) -> Bool {
        var fields: [RedisArgument] = [
            StoreVersion.field, RedisArgument(form),
            .string(Self.partitionsField), RedisArgument(partitions),
        ]
        if base != partitions { fields += [.string(Self.baseField), RedisArgument(base)] }
        if let former { fields += [.string(Self.formerField), RedisArgument(former)] }
        let key = "\(namespace):layout"
        return try await client.run(.layoutRestore, [key], fields).int == 1
    }

    /// The layout in logs and in the doctor's output.
    package var text: String {
        "\(partitions) partitions" + (base == partitions ? "" : " of \(base)")
            + (former.map { ", formerly \($0)" } ?? "") + ", form \(form)"
    }

    /// Returns whether a process with this layout may use a store that has `stored`.
    ///
    /// Three changes occur while processes run, and a process handles each automatically. A repartition begins, which
    /// moves nothing before every process knows of it. A repartition ends. The format is raised, which concerns only
    /// processes that start later.
    private func isFit(for stored: StoreLayout) -> Bool {
        guard stored.base == base, stored.form >= form else { return false }
        if stored.partitions == partitions {
            return stored.former == nil || stored.former == former
        }
        return stored.former == partitions
    }
}
