;;; tsdb.el --- GPU command streams in dap-mode, by tsdb  -*- lexical-binding: t -*-
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:
;; M-x dap-debug begins one of the templates below; dap-mode's own commands step, and those
;; of this file go backwards.  With dap-mode 0.7 (elpa-dap-mode of Debian 12) and later.

;;; Code:

(require 'dap-mode)
(require 'dap-ui) ; exception filters are its variable

(defcustom tsdb-program "tsdb"
  "The program tsdb."
  :group 'dap-mode
  :type 'string)

(dap-register-debug-provider
 "tsdb"
 (lambda (conf)
   (plist-put conf :dap-server-path (list tsdb-program "dap"))))

(dap-register-debug-template
 "TraceSmith: replay a trace"
 (list :type "tsdb" :request "launch" :name "replay" :trace "${workspaceFolder}/app.sbt"))
(dap-register-debug-template
 "TraceSmith: record, then replay"
 (list :type "tsdb" :request "launch" :name "record and replay"
       :program "${workspaceFolder}/a.out" :record t :replay t))
(dap-register-debug-template
 "TraceSmith: debug a program"
 (list :type "tsdb" :request "launch" :name "debug" :program "${workspaceFolder}/a.out"))

;; It comes with each stop, for editors that show streams.
(cl-defmethod dap-handle-event ((_event (eql tsdb/position)) _session _params)
  nil)

(defun tsdb-replay (trace)
  "Replay TRACE, a file."
  (interactive "fTrace: ")
  (dap-debug (list :type "tsdb" :request "launch" :name (file-name-nondirectory trace)
                   :trace (expand-file-name trace))))

(defun tsdb-step-back (session)
  "A command back; inside a launch, an instruction."
  (interactive (list (dap--cur-session-or-die)))
  (dap--step "stepBack" session))

(defun tsdb-reverse-continue (session)
  "Backwards to a breakpoint, or to the beginning."
  (interactive (list (dap--cur-session-or-die)))
  (dap--step "reverseContinue" session))

(provide 'tsdb)
;;; tsdb.el ends here
