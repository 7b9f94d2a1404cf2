import ChildPrograms
import Foundation

/// The count of a process's memory allocations, kept by the library of `ops/allocations.c`.
///
/// It is a class because it owns the file with the count.
final class AllocationCounter: Sendable {
    /// The environment in which a process is counted.
    let environment: [String: String]
    private let file: String

    /// Prepares a count of 0.
    init(library: String) throws {
        guard FileManager.default.fileExists(atPath: library) else {
            throw BenchError("there is no library \(library): build it from ops/allocations.c")
        }
        file = NSTemporaryDirectory() + "/pollerd-allocations-\(UUID().uuidString)"
        SignalledEnd.add(temporary: file)
        try Data(repeating: 0, count: MemoryLayout<UInt64>.size).write(to: URL(filePath: file))
        environment = ["LD_PRELOAD": library, "ALLOCATION_COUNT": file]
    }

    deinit {
        SignalledEnd.remove(temporary: file)
    }

    /// Returns the number of allocations so far.
    func count() throws -> Double {
        let bytes = try Data(contentsOf: URL(filePath: file))
        let count = bytes.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        guard count > 0 else { throw BenchError("allocations are not counted: is it glibc?") }
        return Double(count)
    }
}
