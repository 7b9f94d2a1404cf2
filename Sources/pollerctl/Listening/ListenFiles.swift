// The files of `pollerctl listen`. They are written so that a kill at any time loses no event. The server's cursor
// points between pages, so the IDs of events accepted after the cursor are stored with it. After a kill, only the
// event whose response was in flight may be sent again.

import Crypto
import Foundation
import PollerClient
import StandardWebhooks

/// The position of a listener in the event log.
struct ListenerPosition: Codable {
    let server: String
    let target: String
    let account: String?
    let types: [String]
    /// Events after this cursor are pending, except ``accepted``; `nil` to use ``since``.
    var cursor: String?
    /// The start time without a cursor; `nil` for the oldest stored event.
    var since: Date?
    /// The IDs of events after the cursor that the receiver accepted.
    var accepted: [String] = []
    /// Events accepted so far.
    var total = 0

    /// Where to continue reading.
    var start: EventStart { cursor.map(EventStart.cursor) ?? since.map(EventStart.time) ?? .oldest }

    /// The file name, derived from server, target and filters, which identify a listener.
    fileprivate var name: String {
        let fields = [server, target, account ?? ""] + types.sorted()
        let digest = SHA256.hash(data: Data(fields.joined(separator: "\n").utf8))
        // 64 bits are enough for the few listeners of one user.
        return "listen-"
            + digest.prefix(8).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }
            .joined()
    }
}

/// Why a listener's files cannot be used, with advice.
struct ListenerFileError: Error {
    let message: String
}

/// The folder of a user's listeners, readable only by that user: `$XDG_STATE_HOME/poller`, or `$HOME/.local/state/poller`.
///
/// *Source*: XDG Base Directory Specification 0.8; a relative path is ignored, as specified. `HOME` is the
/// environment variable, as in POSIX; in containers and CI it often differs from `/etc/passwd`.
struct ListenFiles {
    let folder: URL

    /// Creates the folder if it is missing.
    init(_ environment: [String: String]) throws {
        func path(_ variable: String) -> String? {
            environment[variable].flatMap { $0.hasPrefix("/") ? $0 : nil }
        }
        let state = path("XDG_STATE_HOME")
        let home = path("HOME") ?? FileManager.default.homeDirectoryForCurrentUser.path
        folder = URL(fileURLWithPath: state ?? "\(home)/.local/state", isDirectory: true)
            .appendingPathComponent("poller", isDirectory: true)
        do {
            try FileManager.default.createDirectory(
                at: folder,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
        } catch {
            throw ListenerFileError(
                message:
                    "cannot create \(folder.path): set XDG_STATE_HOME or HOME to another folder"
            )
        }
    }

    func url(of position: ListenerPosition) -> URL {
        folder.appendingPathComponent(position.name + ".json")
    }

    /// Reads a listener's saved position; `nil` if there is none.
    func stored(_ position: ListenerPosition) throws -> ListenerPosition? {
        let url = url(of: position)
        guard FileManager.default.fileExists(atPath: url.path) else { return nil }
        do {
            return try JSONDecoder().decode(ListenerPosition.self, from: Data(contentsOf: url))
        } catch {
            throw ListenerFileError(
                message: "\(url.path) is not a valid position file\n"
                    + "Remove it and set the start with --since."
            )
        }
    }

    /// Saves a position atomically; a kill during the write keeps the previous one.
    func store(_ position: ListenerPosition) throws {
        let url = url(of: position)
        do {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            try encoder.encode(position).write(to: url, options: .atomic)
        } catch {
            throw ListenerFileError(
                message: "cannot write \(url.path): \(error.localizedDescription)\n"
                    + "No event is lost. Fix the file and start again from the saved position."
            )
        }
    }

    /// Locks the listener, so that only one process forwards its events; the system unlocks at exit.
    func lock(_ position: ListenerPosition) throws -> FileHandle {
        let path = folder.appendingPathComponent(position.name + ".lock").path
        if !FileManager.default.fileExists(atPath: path) {
            _ = FileManager.default.createFile(atPath: path, contents: nil)
        }
        guard let file = FileHandle(forUpdatingAtPath: path) else {
            throw ListenerFileError(message: "cannot open \(path): check its permissions")
        }
        guard flock(file.fileDescriptor, LOCK_EX | LOCK_NB) == 0 else {
            throw ListenerFileError(
                message:
                    "another pollerctl listen already forwards these events to \(position.target)\nStop it first."
            )
        }
        return file
    }

    /// Returns the signing secret of the user's listeners, created on first use and readable only by the user.
    func secret() throws -> (key: SigningKey, path: String) {
        let url = folder.appendingPathComponent("listen-secret")
        if !FileManager.default.fileExists(atPath: url.path) {
            var generator = SystemRandomNumberGenerator()
            let text = SigningKey(using: &generator).reveal + "\n"
            // If another process created the file first, its secret is read below.
            _ = FileManager.default.createFile(
                atPath: url.path,
                contents: Data(text.utf8),
                attributes: [.posixPermissions: 0o600]
            )
        }
        guard let text = try? String(contentsOf: url, encoding: .utf8),
            let key = SigningKey(text.trimmingCharacters(in: .whitespacesAndNewlines))
        else {
            throw ListenerFileError(
                message: "\(url.path) has no valid secret: it \(SigningKey.rule)\n"
                    + "Remove the file to create a new one."
            )
        }
        return (key, url.path)
    }
}
