import Foundation

/// A fingerprint of some files' states, taken without reading the files.
///
/// Links are followed. A secret that Kubernetes mounts is a link through a link to a folder, and Kubernetes exchanges
/// that folder atomically. Neither the path nor the link next to the file ever changes. A change that keeps size and
/// modification time still has another inode or another change time.
struct FileMarks: Hashable {
    /// The mark of one file, or `nil` if the file does not exist.
    private struct Mark: Hashable {
        let device: UInt64
        let inode: UInt64
        let size: Int64
        /// The time of the last write: seconds, nanoseconds.
        let written: [Int64]
        /// The time of the last change of the inode: seconds, nanoseconds.
        let changed: [Int64]

        init?(_ path: String) {
            var found = stat()
            guard unsafe stat(path, &found) == 0 else { return nil }
            device = UInt64(truncatingIfNeeded: found.st_dev)
            inode = UInt64(clamping: found.st_ino)
            size = Int64(clamping: found.st_size)
            #if canImport(Darwin)
            let times = (found.st_mtimespec, found.st_ctimespec)
            #else
            let times = (found.st_mtim, found.st_ctim)
            #endif
            written = [Int64(clamping: times.0.tv_sec), Int64(clamping: times.0.tv_nsec)]
            changed = [Int64(clamping: times.1.tv_sec), Int64(clamping: times.1.tv_nsec)]
        }
    }

    private let marks: [String: Mark?]

    /// Takes the marks of files now.
    init(of paths: Set<String>) {
        marks = Dictionary(uniqueKeysWithValues: paths.map { ($0, Mark($0)) })
    }

    func changes(since old: FileMarks) -> [String] {
        marks.keys.filter { marks[$0] != old.marks[$0] }.sorted()
    }
}
