import Foundation
import Logging
import ServiceLifecycle

/// The file that keeps a sandbox's state across restarts.
///
/// *Shape*: one JSON object, `{"format": 2, "state": {…}}`, with Base64 for bodies; about 3 kB for each Source with
/// its events. Only this program reads it. It contains webhook secrets, so only its user may read it.
package struct SandboxStateFile: Sendable {
    /// The format version, increased when older programs cannot read the file.
    private static let format = 2
    /// The file name in a folder.
    private static let name = "stripe-sandbox.json"

    private let url: URL

    /// The reason why the state cannot be used, with the file and the remedy.
    package struct Unusable: Error, CustomStringConvertible {
        package let description: String
    }

    /// The format version, decoded first.
    private struct Head: Decodable {
        let format: Int
    }

    /// The whole file.
    private struct Content: Codable {
        let format: Int
        let state: SandboxState
    }

    /// Creates a state file from the path of a file or folder; throws when the folder does not exist.
    package init(path: String) throws(Unusable) {
        let url = URL(fileURLWithPath: path)
        self.url = Self.isFolder(url) ? url.appendingPathComponent(Self.name) : url
        let folder = self.url.deletingLastPathComponent()
        guard Self.isFolder(folder) else {
            throw Unusable(
                description: "\(folder.path) is not a folder: create it and make it writable"
            )
        }
    }

    private static func isFolder(_ url: URL) -> Bool {
        var isFolder: ObjCBool = false
        return unsafe FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder)
            && isFolder.boolValue
    }

    /// Reads the saved state; `nil` when there is none.
    ///
    /// A file that cannot be read is not changed.
    func read() throws(Unusable) -> SandboxState? {
        guard FileManager.default.fileExists(atPath: url.path) else { return nil }
        do {
            let data = try Data(contentsOf: url)
            let decoder = JSONDecoder()
            let format = try decoder.decode(Head.self, from: data).format
            guard format == Self.format else {
                throw unusable(
                    "was written by another release (format \(format), not \(Self.format))"
                )
            }
            return try decoder.decode(Content.self, from: data).state
        } catch let error as Unusable {
            throw error
        } catch is DecodingError {
            throw unusable("is not a stripe-sandbox state file, or is damaged")
        } catch {
            throw unusable("cannot be read (\(error.localizedDescription))")
        }
    }

    private func unusable(_ reason: String) -> Unusable {
        Unusable(
            description: "the state in \(url.path) \(reason). The file was not changed: "
                + "move it away to start empty, or pass another path with --state"
        )
    }

    /// Replaces the saved state atomically.
    func write(_ state: SandboxState) throws {
        let data = try JSONEncoder().encode(Content(format: Self.format, state: state))
        // Written to a new file first, so that readers never see an incomplete file; only its user can read it.
        let next = url.appendingPathExtension("new")
        let files = FileManager.default
        guard
            files.createFile(
                atPath: next.path,
                contents: nil,
                attributes: [.posixPermissions: 0o600]
            )
        else { throw Unusable(description: "\(next.path) cannot be written") }
        let handle = try FileHandle(forWritingTo: next)
        do {
            try handle.write(contentsOf: data)
            try handle.synchronize()
        } catch {
            try handle.close()
            throw error
        }
        try handle.close()
        guard unsafe rename(next.path, url.path) == 0 else {
            throw Unusable(description: "\(url.path) cannot be replaced")
        }
    }
}

/// Writes the state of a sandbox after changes.
///
/// *Cost*: the first change after an idle period is written immediately. The next write waits for ``pauseMin`` or ten
/// times the duration of the last write, whichever is longer. Saving therefore uses at most a tenth of a core,
/// regardless of size.
///
/// *Crash behaviour*: a crash loses the changes since the last write; a shutdown loses nothing.
struct StateWriter: Service {
    /// The maximum loss at a kill while there is little to write.
    static let pauseMin = Duration.milliseconds(200)
    private static let pauseFactor = 10

    let store: SandboxStore
    let file: SandboxStateFile
    let changes: AsyncStream<Void>
    let logger: Logger

    func run() async throws {
        var written = 0
        for await _ in changes.cancelOnGracefulShutdown() {
            var isSaved = false
            while !isSaved, !Task.isShuttingDownGracefully, !Task.isCancelled {
                let startMs = store.configuration.nowMs()
                isSaved = write(&written)
                let duration = Duration.milliseconds(store.configuration.nowMs() - startMs)
                await cancelWhenGracefulShutdown {
                    // Cancelled on shutdown: the remaining changes are written immediately.
                    try? await Task.sleep(for: max(Self.pauseMin, duration * Self.pauseFactor))
                }
            }
        }
        write(&written)
    }

    /// Writes the state if it has changed; returns whether everything is saved.
    ///
    /// Each failure, such as a full disk, is logged and retried.
    @discardableResult
    private func write(_ written: inout Int) -> Bool {
        let state = store.state
        guard state.changes != written else { return true }
        do {
            try file.write(state)
            written = state.changes
            return true
        } catch {
            logger.error("cannot save state; retrying", metadata: ["error": "\(error)"])
            return false
        }
    }
}
