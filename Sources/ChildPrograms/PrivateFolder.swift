import Foundation

/// A folder and files that no other user of the machine may read.
enum PrivateFolder {
    private static let folderMode = 0o700
    private static let fileMode = 0o600
    /// Names of files that an earlier start has left in a folder.
    private static let known: Set = ["appendonlydir", "redis.log", "redis.conf", "dump.rdb"]

    /// Makes a folder for this user alone, with its parent folders.
    ///
    /// An existing folder becomes private when it is empty or holds the data of an earlier start.
    /// Any other folder is left unchanged, because its owner may share it (`/tmp`): new files in it
    /// are private.
    static func make(_ path: String) throws {
        let files = FileManager.default
        guard files.fileExists(atPath: path) else {
            try files.createDirectory(
                atPath: path,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: folderMode]
            )
            return try restrict(path, to: folderMode)
        }
        guard isOwnedByUser(path) else { return }
        let names = Set(try files.contentsOfDirectory(atPath: path))
        if names.isEmpty || !names.isDisjoint(with: known) { try restrict(path, to: folderMode) }
    }

    /// Writes a file that only this user may read, from its creation on.
    static func write(_ text: String, to path: String) throws {
        // An older file may belong to another user, or be open in another process.
        try? FileManager.default.removeItem(atPath: path)
        let descriptor = unsafe open(
            path,
            O_WRONLY | O_CREAT | O_EXCL,
            mode_t(truncatingIfNeeded: fileMode)
        )
        guard descriptor >= 0 else { throw ProgramError("\(path) cannot be written") }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        try file.write(contentsOf: Data(text.utf8))
    }

    /// Returns whether this user owns a folder, and no other user can have created the names in it.
    private static func isOwnedByUser(_ path: String) -> Bool {
        var status = stat()
        return unsafe stat(path, &status) == 0 && status.st_uid == getuid()
            && status.st_mode & (S_IWGRP | S_IWOTH) == 0
    }

    private static func restrict(_ path: String, to mode: Int) throws {
        do {
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        } catch {
            throw ProgramError("\(path) cannot be made private: \(error)")
        }
    }
}
