import Foundation

/// What tells one state of some files from another without reading them.
///
/// Links are followed: a secret that Kubernetes mounts is a link through a link to a folder, which is exchanged for
/// another at once, so that neither the path nor the link beside the file ever changes. A change that leaves the size
/// and the time of writing as they were still has another inode, or another time at which it was made.
struct FileMarks: Hashable {
    /// One file's; none where there is no file.
    private struct Mark: Hashable {
        let device: UInt64
        let inode: UInt64
        let size: Int64
        let written: [Int64]
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

    /// Looks at files now.
    init(of paths: Set<String>) {
        marks = Dictionary(uniqueKeysWithValues: paths.map { ($0, Mark($0)) })
    }

    /// The files that stand otherwise than they did.
    func changes(since old: FileMarks) -> [String] {
        marks.keys.filter { marks[$0] != old.marks[$0] }.sorted()
    }
}
